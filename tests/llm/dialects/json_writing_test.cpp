#include "llm/dialects/json_writing.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using sluice::llm::json_value;
using sluice::llm::parse_json;
using sluice::llm::written;

namespace {

std::string text(std::string_view said) { return written(json_value(said)); }

std::string reference(const json_value& value) {
  return value.dump(-1, ' ', false, json_value::error_handler_t::replace);
}

}  // namespace

TEST_CASE("every kind of value, in the order of its members") {
  for (const char* const same : {"null", "true", "false", "0", "-1", "12", "0.5", "1e+30", "-0.0", "\"\"", "[]", "{}",
                                 "[[]]", "[{},{}]", R"({"b":1,"a":[2,"x",null,{"d":{}}],"":false})"}) {
    CHECK(written(parse_json(same).value()) == same);
  }
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  // There is no such number in JSON.
  CHECK(written(std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("what must not stand between quotes is escaped, and nothing else") {
  CHECK(text("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(text("\b\f\n\r\t") == R"("\b\f\n\r\t")");
  CHECK(text(std::string_view("\0\x1F", 2)) == R"("\u0000\u001f")");
  CHECK(text("\x7F") == "\"\x7F\"");
  CHECK(text("ä€\U0001F600") == "\"ä€\U0001F600\"");
  CHECK(written(parse_json(R"({"a\"\n":1})").value()) == R"({"a\"\n":1})");
}

TEST_CASE("what needs an escape is found wherever it stands") {
  for (std::size_t length = 0; length < 40; ++length) {
    for (std::size_t at = 0; at <= length; ++at) {
      const std::string before(at, '~'), after(length - at, ' ');
      REQUIRE(text(before + '"' + after) == '"' + before + "\\\"" + after + '"');
      REQUIRE(text(before + '\x01' + after) == '"' + before + "\\u0001" + after + '"');
      REQUIRE(text(before + "é" + after) == '"' + before + "é" + after + '"');
      REQUIRE(text(before + '\xFF' + after) == '"' + before + "\xEF\xBF\xBD" + after + '"');
    }
  }
}

TEST_CASE("what is no UTF-8 is replaced, one for each sequence that breaks off") {
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(text("\x80") == '"' + mark + '"');
  CHECK(text("\xC3") == '"' + mark + '"');
  CHECK(text("\xE2\x82") == '"' + mark + '"');
  CHECK(text("\xF0\x9F\x98") == '"' + mark + '"');
  CHECK(text("\xE2\x82x") == '"' + mark + "x\"");
  CHECK(text("\xE2\x82\xC3\xA4") == '"' + mark + "ä\"");
  CHECK(text("\xE2\"") == '"' + mark + "\\\"\"");
  // Spelled too long; a half of a pair; beyond the last character.
  CHECK(text("\xC0\x80") == '"' + mark + mark + '"');
  CHECK(text("\xE0\x80\x80") == '"' + mark + mark + mark + '"');
  CHECK(text("\xED\xA0\x80") == '"' + mark + mark + mark + '"');
  CHECK(text("\xF4\x90\x80\x80") == '"' + mark + mark + mark + mark + '"');
}

TEST_CASE("the text is the one that the library for JSON writes") {
  // Bytes that make and break sequences, often.
  constexpr std::string_view letters(
      "a ~\"\\/\n\x01\x1F\x7F\x00\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5\xFF",
      32);
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 24, ' ');
    for (char& byte : bytes) byte = letters[random() % letters.size()];
    json_value value = {{bytes, {bytes, round, -round, round * 0.37, round % 2 == 0, nullptr}}};
    CAPTURE(bytes);
    REQUIRE(written(value) == reference(value));
  }
}
