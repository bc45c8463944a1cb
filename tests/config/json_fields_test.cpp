#include "config/json_fields.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using sluice::config::json_field;
using sluice::config::read_json_fields;

namespace {

std::string message_of(std::string_view text, std::size_t depth = 4) {
  const auto fields = read_json_fields(text, depth);
  return fields ? std::string() : fields.error().message();
}

}  // namespace

TEST_CASE("fields come in the order of the document, objects before what is in them") {
  const auto fields = read_json_fields(R"({"b": {"x": -3}, "a": "t", "c": {}, "d": true, "e": null, "f": 1.5})", 4);
  REQUIRE(fields);
  std::string names;
  for (const json_field& field : *fields) names += field.name() + ' ';
  CHECK(names == "b b.x a c d e f ");
  CHECK((*fields)[0].what == json_field::kind::object);
  CHECK((*fields)[1].what == json_field::kind::whole);
  CHECK((*fields)[1].number == -3);
  CHECK((*fields)[2].what == json_field::kind::text);
  CHECK((*fields)[2].written == "t");
  CHECK((*fields)[3].what == json_field::kind::object);
  CHECK((*fields)[4].what == json_field::kind::boolean);
  CHECK((*fields)[4].truth);
  CHECK((*fields)[5].what == json_field::kind::null);
  CHECK((*fields)[6].what == json_field::kind::fraction);
  CHECK((*fields)[6].written == "1.5");
}

TEST_CASE("an empty object has no fields") {
  const auto fields = read_json_fields("{}", 4);
  REQUIRE(fields);
  CHECK(fields->empty());
}

TEST_CASE("whole numbers of 64 bits are exact, greater ones keep their digits") {
  const auto fields =
      read_json_fields(R"({"max": 9223372036854775807, "min": -9223372036854775808, "more": 9223372036854775808,
                           "much": 18446744073709551616, "less": -9223372036854775809, "exponent": 1e30})",
                       1);
  REQUIRE(fields);
  REQUIRE(fields->size() == 6);
  CHECK((*fields)[0].number == 9223372036854775807);
  CHECK((*fields)[1].number == std::numeric_limits<std::int64_t>::min());
  CHECK((*fields)[2].what == json_field::kind::fraction);
  CHECK((*fields)[2].written == "9223372036854775808");
  CHECK((*fields)[3].written == "18446744073709551616");
  CHECK((*fields)[4].written == "-9223372036854775809");
  CHECK((*fields)[5].written == "1e30");
}

TEST_CASE("a name that is no plain word is quoted in the path, on one line") {
  const auto fields = read_json_fields("{\"a b\": {\"x.y\": 1, \"\": 2, \"new\\nline\": 3}}", 4);
  REQUIRE(fields);
  CHECK((*fields)[1].name() == R"("a b"."x.y")");
  CHECK((*fields)[2].name() == R"("a b"."")");
  CHECK((*fields)[3].name() == R"("a b"."new\nline")");
}

TEST_CASE("a field that stands twice is named, wherever the second one stands") {
  CHECK(message_of(R"({"a": 1, "b": 2, "a": 1})") == "a: stands twice");
  CHECK(message_of(R"({"a": {"x": 1, "x": 2}})") == "a.x: stands twice");
  CHECK(message_of(R"({"a": {}, "b": {}, "a": {}})") == "a: stands twice");
  CHECK(message_of(R"({"a": {"x": 1}, "b": {"x": 1}})").empty());
}

TEST_CASE("what is not JSON is named by line and column") {
  CHECK(message_of("").starts_with("line 1, column 1: not JSON: "));
  CHECK(message_of("{").starts_with("line 1, column 2: not JSON: "));
  CHECK(message_of("{\"a\" 1}").starts_with("line 1, column 6: not JSON: "));
  CHECK(message_of("{\n  \"a\": 1,\n  \"b\": 2,,\n}").starts_with("line 3, column 10: not JSON: "));
  CHECK(message_of("{\"a\": NaN}").starts_with("line 1, column 7: not JSON: "));
  CHECK(message_of("{\"a\": 1} x").starts_with("line 1, column 10: not JSON: "));
  CHECK(message_of("{\"a\": 01}").starts_with("line 1, column 8: not JSON: "));
  CHECK(message_of("{\"a\": \"\x80\"}").starts_with("line 1, column 8: not JSON: "));
}

TEST_CASE("only objects, only so deep, no arrays") {
  CHECK(message_of("3") == "a policy is a JSON object, not 3");
  CHECK(message_of("[]") == "a policy is a JSON object, not an array");
  CHECK(message_of("null") == "a policy is a JSON object, not null");
  CHECK(message_of(R"({"a": [1]})") == "a: must not be an array");
  CHECK(message_of(R"({"a": {"b": {}}})", 2) == "a.b: must not be an object");
  CHECK(message_of(R"({"a": {"b": 1}})", 2).empty());
}

TEST_CASE("a deep document costs no stack") {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += "{\"a\":";
  CHECK(message_of(deep) == "a.a.a.a: must not be an object");
  CHECK(message_of(std::string(1'000'000, '[')) == "a policy is a JSON object, not an array");
}
