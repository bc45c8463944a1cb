#include <sluice/llm/estimator.hpp>

#include <doctest/doctest.h>

#include <limits>

using sluice::cost;
using sluice::llm::character_estimator;
using sluice::llm::estimate_tokens;
using sluice::llm::request;

TEST_CASE("a quarter of the characters, rounded up") {
  CHECK(estimate_tokens(0) == 0);
  CHECK(estimate_tokens(1) == 1);
  CHECK(estimate_tokens(4) == 1);
  CHECK(estimate_tokens(5) == 2);
  CHECK(estimate_tokens(-1) == 0);
  CHECK(estimate_tokens(std::numeric_limits<std::int64_t>::max()) == (std::int64_t{1} << 61));
}

TEST_CASE("all that is sent counts, and the limit is the output") {
  const character_estimator estimate;
  request asked("m");
  CHECK(estimate(asked) == cost{.tokens = 2'048, .output_tokens = 2'048});
  asked.system("12345678").user("1").limit_output(100);
  CHECK(estimate(asked) == cost{.tokens = 3 + 2 * 4 + 100, .output_tokens = 100});
  // name 2 + description 4 + schema 10, then a call of name 2 + arguments 8, and its result of 6.
  asked.with_tool(sluice::llm::tool("fn", "does", "{\"a\": 1  }"));
  CHECK(estimate(asked).tokens == 7 + 2 * 4 + 100);
  sluice::llm::reply answer;
  answer.tool_calls.emplace_back("id", "fn", "{\"a\": 1}");
  asked.assistant(answer).tool_result("id", "result");
  CHECK(estimate(asked).tokens == 11 + 4 * 4 + 100);
}

TEST_CASE("characters beyond ASCII count as their bytes") {
  request asked("m");
  asked.user("\xE6\xB0\xB4\xE9\x97\xB8\xE9\x97\xA8").limit_output(1);
  CHECK(estimate_tokens(9) == 3);
  CHECK(character_estimator()(asked).tokens == 3 + 4 + 1);
}

TEST_CASE("settings count, and nothing wraps") {
  character_estimator estimate;
  estimate.tokens_per_message = 0;
  estimate.default_output_tokens = 10;
  request asked("m");
  asked.user("1234");
  CHECK(estimate(asked) == cost{.tokens = 11, .output_tokens = 10});
  asked.limit_output(std::numeric_limits<std::int64_t>::max());
  CHECK(estimate(asked).tokens == std::numeric_limits<std::int64_t>::max());
}
