#include "llm/estimates/output_counter.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::llm::reply;
using sluice::llm::text_ratios;
using sluice::llm::detail::output_counter;

namespace {

constexpr text_ratios by{.prose = 4, .code = 4, .json = 2, .cjk = 0.5};

}  // namespace

TEST_CASE("texts count by what they are, tool calls as JSON") {
  output_counter seen;
  reply answer;
  CHECK(seen.count(answer, 0, by) == 0);
  answer.reasoning = "abcdefgh";
  CHECK(seen.count(answer, 8, by) == 2);
  answer.text = "\xE6\xB0\xB4";
  CHECK(seen.count(answer, 11, by) == 4);
  answer.refusal = "abcd";
  CHECK(seen.count(answer, 15, by) == 5);
  // Fragments of a call are not in the answer yet.
  CHECK(seen.count(answer, 25, by) == 10);
}

TEST_CASE("the same, in whatever pieces it comes") {
  std::string whole;
  for (int i = 0; i < 60; ++i) whole += "word, \xE6\xB0\xB4 { \"k\": 1 }\n";
  reply answer;
  answer.text = whole;
  output_counter once;
  const auto expected = once.count(answer, static_cast<std::int64_t>(whole.size()), by);
  output_counter seen;
  answer.text.clear();
  std::int64_t last = 0;
  for (const char byte : whole) {
    answer.text += byte;
    const std::int64_t now = seen.count(answer, static_cast<std::int64_t>(answer.text.size()), by);
    CHECK(now >= 0);
    last = now;
  }
  CHECK(last == expected);
  CHECK(seen.count(answer, static_cast<std::int64_t>(answer.text.size()), by) == expected);
}

TEST_CASE("a count of bytes that lags behind does not make it less") {
  output_counter seen;
  reply answer;
  answer.text = std::string(400, 'a');
  CHECK(seen.count(answer, 0, by) == 100);
}
