#include "agent/tools/tool_words.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice::agent::detail;

namespace {

std::string cut_to(std::string text, std::size_t most) {
  cut(text, most);
  return text;
}

}  // namespace

TEST_CASE("arguments that are empty are none") {
  sluice::llm::tool_call call("1", "x", "");
  CHECK(given_arguments(call) == "{}");
  call.arguments = R"({"a":1})";
  CHECK(given_arguments(call) == R"({"a":1})");
}

TEST_CASE("text is cut at a whole character") {
  CHECK(cut_to("abc", 3) == "abc");
  CHECK(cut_to("abcd", 3) == "abc\n[cut: the first 3 of 4 bytes]");
  const std::string euro = "\xe2\x82\xac";
  CHECK(cut_to(euro + euro, 6) == euro + euro);
  for (const std::size_t most : {3U, 4U, 5U})
    CHECK(cut_to(euro + euro, most) == euro + "\n[cut: the first 3 of 6 bytes]");
  CHECK(cut_to(euro, 1) == "\n[cut: the first 0 of 3 bytes]");
  const std::string clef = "\xf0\x9d\x84\x9e";
  CHECK(cut_to("a" + clef, 4) == "a\n[cut: the first 1 of 5 bytes]");
  // What is no UTF-8 is cut where it is.
  CHECK(cut_to(std::string(9, '\x80'), 5) == std::string(5, '\x80') + "\n[cut: the first 5 of 9 bytes]");
}

TEST_CASE("a long text says how long it was") {
  CHECK(cut_to(std::string(1'234'567, 'x'), 300'000).ends_with("\n[cut: the first 300,000 of 1,234,567 bytes]"));
}

TEST_CASE("a model's words are shown on one line, and not all of them") {
  CHECK(shown("a\nb\tc") == "a b c");
  CHECK(shown(std::string(80, 'x')) == std::string(80, 'x'));
  CHECK(shown(std::string(81, 'x')) == std::string(80, 'x') + "...");
}

TEST_CASE("a limit of time is never told as none") {
  using namespace std::chrono_literals;
  CHECK(time_limit(50ms) == "0.05 s");
  CHECK(time_limit(1ns) == "0.000000001 s");
  CHECK(time_limit(1'500ms) == "1.5 s");
  CHECK(time_limit(12s) == "12 s");
  CHECK(time_limit(100s) == "100 s");
  CHECK(time_limit(150s) == "2 minutes");
}
