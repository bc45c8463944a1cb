#include "llm/dialects/json_text.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::llm::json_kind;
using sluice::llm::judge_json;
using sluice::llm::most_json_depth;
using sluice::llm::parse_json;
using sluice::llm::parse_object;

namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("what a text is") {
  CHECK(judge_json("{}") == json_kind::object);
  CHECK(judge_json(R"( {"a":[1,{"b":null}],"c":"}"} )") == json_kind::object);
  CHECK(judge_json("[{}]") == json_kind::other);
  CHECK(judge_json("1e3") == json_kind::other);
  CHECK(judge_json("\"{}\"") == json_kind::other);
  CHECK(judge_json("null") == json_kind::other);
  for (const char* bad :
       {"", " ", "{", "{}{}", R"({"a":1,})", R"({"a":"b)", "{'a':1}", "nul", "{\"a\":\"\xFF\"}", "{} x", "NaN"}) {
    CAPTURE(bad);
    CHECK(judge_json(bad) == json_kind::none);
  }
}

TEST_CASE("depth is bounded, and found out without any") {
  CHECK(judge_json(nested(most_json_depth)) == json_kind::other);
  CHECK(judge_json(nested(most_json_depth + 1)) == json_kind::too_deep);
  CHECK(judge_json(std::string(10'000'000, '[')) == json_kind::too_deep);
  CHECK(judge_json("{\"a\":" + nested(10'000) + "}") == json_kind::too_deep);
  // Brackets in a text are none.
  CHECK(judge_json("\"" + std::string(10'000, '[') + "\"") == json_kind::other);
  CHECK_FALSE(parse_json(nested(10'000)).has_value());
  CHECK_FALSE(parse_object("{\"a\":" + nested(10'000) + "}").has_value());
}

TEST_CASE("parsing keeps the order of members") {
  const auto parsed = parse_object(R"({"b":1,"a":{"d":2,"c":3}})");
  REQUIRE(parsed.has_value());
  CHECK(parsed->dump() == R"({"b":1,"a":{"d":2,"c":3}})");
  CHECK_FALSE(parse_object("[1]").has_value());
  CHECK(parse_json("[1]").value().dump() == "[1]");
  CHECK_FALSE(parse_json("[1").has_value());
}
