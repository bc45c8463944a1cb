#include "agent/tools/schema_pattern.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

using sluice::agent::detail::schema_pattern;

namespace {

bool found(std::string_view pattern, std::string_view text) {
  const auto made = schema_pattern::compile(pattern);
  REQUIRE_MESSAGE(made, std::string(pattern));
  return made->found_in(text);
}

std::string problem(std::string_view pattern) {
  const auto made = schema_pattern::compile(pattern);
  return made ? "" : made.error();
}

}  // namespace

TEST_CASE("a pattern is looked for anywhere in the text, unless it says where") {
  CHECK(found("b", "abc"));
  CHECK_FALSE(found("^b", "abc"));
  CHECK(found("^abc$", "abc"));
  CHECK_FALSE(found("^abc$", "abc\n"));
  CHECK_FALSE(found("^b$", "a\nb\nc"));
  CHECK(found("", ""));
  CHECK(found("^a|b", "xb"));
  CHECK(found("a.c", std::string_view("a\0c", 3)));
}

TEST_CASE("it is written as in ECMAScript, over characters") {
  CHECK(found(R"(^\u00e4$)", "\xc3\xa4"));
  CHECK(found(R"(^[\u00e0-\u00ff]{2}$)", "\xc3\xa4\xc3\xb6"));
  CHECK(found("^.$", "\xf0\x9f\x98\x80"));
  CHECK(found(R"(^\/a\-b$)", "/a-b"));
  CHECK(found("^(?<year>\\d{4})-(?<month>\\d\\d)$", "2024-05"));
  CHECK(found("^[^]$", "\n"));
  CHECK_FALSE(found("[]", "]"));
  CHECK(found("^[[]$", "["));
  CHECK(found("^[[:alpha:]]$", "l]"));
  CHECK(found("^[.]$", "."));
  CHECK_FALSE(found("^[.]$", "x"));
  CHECK_FALSE(found("^.$", "\r"));
  CHECK_FALSE(found("^.$", "\xe2\x80\xa8"));
  CHECK(found(R"(^\.$)", "."));
  CHECK_FALSE(found(R"(^\.$)", "x"));
  CHECK(found(R"(^\\u0041$)", "\\u0041"));
}

TEST_CASE("looking ahead is known where a pattern begins") {
  const std::string_view password = R"(^(?=.*[A-Z])(?=.*\d)(?!.*\s).{8,}$)";
  CHECK(found(password, "Secret42"));
  CHECK_FALSE(found(password, "secret42"));
  CHECK_FALSE(found(password, "SecretXY"));
  CHECK_FALSE(found(password, "Secret 42"));
  CHECK_FALSE(found(password, "Se42"));
  CHECK(found("^(?!a|b)", "c"));
  CHECK_FALSE(found("^(?!a|b)", "bc"));
  CHECK(found("^(?=(a|b)c)[a-z](c|d)$", "bc"));
  CHECK_FALSE(found("^(?=(a|b)c)[a-z](c|d)$", "bd"));
  CHECK(found(R"(^(?![)])\(x$)", "(x"));
  CHECK_FALSE(found(R"(^(?![)])\(x$)", ")x"));
}

TEST_CASE("what would take more than linear time is no pattern") {
  CHECK_FALSE(problem(R"((a)\1)").empty());
  CHECK_FALSE(problem("a(?=b)").empty());
  CHECK_FALSE(problem("(?<!a)b").empty());
  CHECK_FALSE(problem("(?<=a)b").empty());
  // A way of looking ahead that is one alternative of two, or repeated, does not hold for all of the text.
  CHECK_FALSE(problem("^(?!a)b|c").empty());
  CHECK_FALSE(problem("^(?=a)*b").empty());
  CHECK_FALSE(problem("^(?=a").empty());
  CHECK_FALSE(problem("(").empty());
  CHECK_FALSE(problem("[a").empty());
  CHECK_FALSE(problem("*").empty());
  CHECK_FALSE(problem("((((a{100}){100}){100}){100})").empty());
}

TEST_CASE("long texts take neither stack nor more time than their length") {
  const std::string many(100'000, 'a');
  CHECK(found("(a+)+$", many));
  CHECK_FALSE(found("(a+)+$", many + 'b'));
  CHECK_FALSE(found("^(([a-z])+.)+[A-Z]([a-z])+$", many));
  CHECK(found("^.*x.*y$", "x" + std::string(1'000'000, '.') + 'y'));
  CHECK_FALSE(found("^.*x.*y$", std::string(1'000'000, 'x')));
  CHECK_FALSE(found("^(?!(a+)+$)", many));
}
