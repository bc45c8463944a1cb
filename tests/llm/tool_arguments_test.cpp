#include <sluice/llm/tool_arguments.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using sluice::errc;
using sluice::llm::tool_arguments;
using sluice::llm::tool_call;

namespace {

template <typename T>
std::string problem(const tool_arguments& args, std::string_view name) {
  const auto value = args.get<T>(name);
  if (value) return {};
  CHECK(value.error().is(errc::invalid_argument));
  return value.error().message();
}

template <typename T>
std::string problem(std::string_view json, std::string_view name) {
  return problem<T>(tool_arguments(json), name);
}

const char* const trip =
    R"({ "city" : "Z\u00fcrich \"HB\"", "days":3, "price": 12.5e1, "sure":true, "never": false, "tags":["a","b\n"],
       "counts":[1, 2.0, -3], "flags":[true,false], "rates":[1,0.5], "empty":[], "nothing":null,
       "where": {"city": "Oslo", "at": {"lat": 59.9}}, "legs": [ {"to":"A"}, {"to": 7} ] })";

}  // namespace

TEST_CASE("each type by its name, in any order, any number of times") {
  const tool_arguments args{std::string_view(trip)};
  CHECK(args.check());
  for (int again = 0; again < 2; ++again) {
    CHECK(args.get<double>("price") == 125.0);
    CHECK(args.get<std::string>("city") == "Z\xC3\xBCrich \"HB\"");
    CHECK(args.get<std::int64_t>("days") == 3);
    CHECK(args.get<double>("days") == 3.0);
    CHECK(args.get<bool>("sure") == true);
    CHECK(args.get<bool>("never") == false);
    CHECK(args.get<std::vector<std::string>>("tags") == std::vector<std::string>{"a", "b\n"});
    CHECK(args.get<std::vector<std::int64_t>>("counts") == std::vector<std::int64_t>{1, 2, -3});
    CHECK(args.get<std::vector<bool>>("flags") == std::vector<bool>{true, false});
    CHECK(args.get<std::vector<double>>("rates") == std::vector<double>{1, 0.5});
    CHECK(args.get<std::vector<std::string>>("empty") == std::vector<std::string>{});
  }
}

TEST_CASE("optional ones may be missing or null, but not of another type") {
  const tool_arguments args{std::string_view(trip)};
  CHECK(args.get<std::optional<std::int64_t>>("days").value() == 3);
  CHECK(args.get<std::optional<std::int64_t>>("nights").value() == std::nullopt);
  CHECK(args.get<std::optional<std::string>>("nothing").value() == std::nullopt);
  CHECK(args.get<std::optional<std::vector<std::string>>>("tags").value() == std::vector<std::string>{"a", "b\n"});
  CHECK(args.get<std::optional<std::vector<double>>>("none").value() == std::nullopt);
  CHECK(problem<std::optional<std::int64_t>>(args, "city") ==
        "argument \"city\" must be an integer, but is the string \"Z\xC3\xBCrich \"HB\"\"");
  CHECK(args.has("days"));
  CHECK_FALSE(args.has("nothing"));
  CHECK_FALSE(args.has("nights"));
}

TEST_CASE("an error is a sentence for the model") {
  CHECK(problem<std::string>("{}", "city") == "argument \"city\" is missing; a string is expected");
  CHECK(problem<std::int64_t>("{}", "n") == "argument \"n\" is missing; an integer is expected");
  CHECK(problem<std::vector<bool>>("{}", "n") == "argument \"n\" is missing; an array of truth values is expected");
  CHECK(problem<std::int64_t>(R"({"days":"three"})", "days") ==
        "argument \"days\" must be an integer, but is the string \"three\"");
  CHECK(problem<std::int64_t>(R"({"days":"3"})", "days") ==
        "argument \"days\" must be an integer, but is the string \"3\"");
  CHECK(problem<std::int64_t>(R"({"days": 2.5 })", "days") ==
        "argument \"days\" must be an integer, but is the number 2.5");
  CHECK(problem<double>(R"({"x":true})", "x") == "argument \"x\" must be a number, but is true");
  CHECK(problem<bool>(R"({"x":1})", "x") == "argument \"x\" must be true or false, but is the number 1");
  CHECK(problem<bool>(R"({"x":"true"})", "x") == "argument \"x\" must be true or false, but is the string \"true\"");
  CHECK(problem<std::string>(R"({"x":null})", "x") == "argument \"x\" must be a string, but is null");
  CHECK(problem<std::string>(R"({"x":{"y":1}})", "x") == "argument \"x\" must be a string, but is an object");
  CHECK(problem<std::string>(R"({"x":[1]})", "x") == "argument \"x\" must be a string, but is an array");
  CHECK(problem<std::vector<double>>(R"({"x":1})", "x") ==
        "argument \"x\" must be an array of numbers, but is the number 1");
  CHECK(problem<std::vector<std::string>>(R"({"x":["a",null,3]})", "x") ==
        "argument \"x[1]\" must be a string, but is null");
  CHECK(problem<std::string>(R"({"x":"a","y":1,"x":"b"})", "x") == "argument \"x\" is given twice");
}

TEST_CASE("a long or strange value is quoted on one line, and not at length") {
  const std::string long_one = problem<std::int64_t>(R"({"x":")" + std::string(5'000, 'a') + "\"}", "x");
  CHECK(long_one == "argument \"x\" must be an integer, but is the string \"" + std::string(80, 'a') + "...\"");
  CHECK(problem<std::int64_t>("{\"x\":\"a\\nb\"}", "x") ==
        "argument \"x\" must be an integer, but is the string \"a b\"");
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "\xE6\xB0\xB4";
  CHECK(problem<std::int64_t>("{\"x\":\"" + wide + "\"}", "x").ends_with(wide.substr(0, 78) + "...\""));
}

TEST_CASE("integers that are whole and can be held") {
  const auto integer = [](const std::string& written) {
    return tool_arguments(std::string_view("{\"x\":" + written + "}")).get<std::int64_t>("x");
  };
  CHECK(integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(integer("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK(integer("-0") == 0);
  CHECK(integer("1e3") == 1'000);
  CHECK(integer("-2.0") == -2);
  for (const char* beyond : {"9223372036854775808", "1e30", "1e999", "0.1", "9007199254740993.0e1"}) {
    CAPTURE(beyond);
    CHECK_FALSE(integer(beyond));
  }
  CHECK_FALSE(tool_arguments(std::string_view(R"({"x":1e999})")).get<double>("x"));
}

TEST_CASE("objects inside objects keep their full names") {
  const tool_arguments args{std::string_view(trip)};
  auto where = args.object("where");
  REQUIRE(where);
  CHECK(where->get<std::string>("city") == "Oslo");
  CHECK(problem<std::int64_t>(*where, "zip") == "argument \"where.zip\" is missing; an integer is expected");
  auto at = where->object("at");
  REQUIRE(at);
  CHECK(at->get<double>("lat") == 59.9);
  CHECK(problem<std::string>(*at, "lat") == "argument \"where.at.lat\" must be a string, but is the number 59.9");
  CHECK(args.object("city").error().message() ==
        "argument \"city\" must be an object, but is the string \"Z\xC3\xBCrich \"HB\"\"");
  CHECK(args.object("there").error().message() == "argument \"there\" is missing; an object is expected");
  // It does not need what it came from.
  std::optional<tool_arguments> kept;
  {
    tool_arguments outer{std::string_view(trip)};
    kept = *outer.object("where");
  }
  CHECK(kept->get<std::string>("city") == "Oslo");
}

TEST_CASE("arrays of objects") {
  const tool_arguments args{std::string_view(trip)};
  auto legs = args.objects("legs");
  REQUIRE(legs);
  REQUIRE(legs->size() == 2);
  CHECK((*legs)[0].get<std::string>("to") == "A");
  CHECK(problem<std::string>((*legs)[1], "to") == "argument \"legs[1].to\" must be a string, but is the number 7");
  CHECK(args.objects("empty")->empty());
  CHECK(args.objects("counts").error().message() == "argument \"counts[0]\" must be an object, but is the number 1");
  CHECK(args.objects("days").error().message() == "argument \"days\" must be an array of objects, but is the number 3");
  CHECK(args.objects("gone").error().message() == "argument \"gone\" is missing; an array of objects is expected");
}

TEST_CASE("names are compared as they are meant, not as they are written") {
  const tool_arguments args(R"({"caf\u00e9":1,"a\"b":2,"":3})");
  CHECK(args.get<std::int64_t>("caf\xC3\xA9") == 1);
  CHECK(args.get<std::int64_t>("a\"b") == 2);
  CHECK(args.get<std::int64_t>("") == 3);
}

TEST_CASE("arguments that are none answer every question with why") {
  tool_call cut("id", "f", "{\"city\":\"Par");
  cut.valid = false;
  cut.problem = "the arguments were cut off by the answer's token limit";
  const tool_arguments of_cut(cut);
  CHECK(of_cut.check().error().message() == cut.problem);
  CHECK(problem<std::string>(of_cut, "city") == cut.problem);
  CHECK(of_cut.object("city").error().message() == cut.problem);
  CHECK_FALSE(of_cut.has("city"));
  // A good call whose name is wrong is no better.
  tool_call misnamed("id", "no such tool", "{}");
  misnamed.valid = false;
  CHECK(tool_arguments(misnamed).check().error().message() == "the call is not valid");

  for (const char* broken : {"", "{", "{\"a\":1,}", "{\"a\":01}", "{\"a\":tru}", "{}{}", "{\"a\":\"\xFF\"}"}) {
    CAPTURE(broken);
    CHECK(tool_arguments(std::string_view(broken)).check().error().message() == "the arguments are not valid JSON");
  }
  CHECK(tool_arguments(std::string_view("[1]")).check().error().message() == "the arguments are not a JSON object");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 10'000; ++i) deep += '[';
  for (int i = 0; i < 10'000; ++i) deep += ']';
  CHECK(tool_arguments(std::string_view(deep + '}')).check().error().message() == "the arguments are nested too deep");
  CHECK(tool_arguments(tool_call("id", "f", "{}")).check());
}

TEST_CASE("text that is known to be an object is taken at its word, and answers as any") {
  const auto args = tool_arguments::of_object(R"({"city":"Paris","days":3})");
  CHECK(args.check());
  CHECK(args.get<std::string>("city").value() == "Paris");
  CHECK(args.get<std::int64_t>("days").value() == 3);
  CHECK_FALSE(args.has("country"));
  // Where the word was not kept, the answer is an error all the same.
  CHECK_FALSE(tool_arguments::of_object("[1]").get<std::string>("city"));
}
