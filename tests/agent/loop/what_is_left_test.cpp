#include "agent/loop/what_is_left.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using namespace sluice;
using agent::detail::rounded;
using agent::detail::what_is_left;

namespace {

constexpr spending no_limit{unlimited, unlimited, unlimited, unlimited};

spending with_tokens(std::int64_t tokens) {
  spending some = no_limit;
  some.tokens = tokens;
  return some;
}

}  // namespace

TEST_CASE("times are rounded down, to what a person would say") {
  CHECK(rounded(-1s) == "0.0 s");
  CHECK(rounded(449ms) == "0.4 s");
  CHECK(rounded(1'999ms) == "1.9 s");
  CHECK(rounded(9'999ms) == "9 s");
  CHECK(rounded(24'900ms) == "20 s");
  CHECK(rounded(119s) == "115 s");
  CHECK(rounded(120s) == "2 minutes");
  CHECK(rounded(119min + 59s) == "119 minutes");
  CHECK(rounded(2h) == "2 hours");
}

TEST_CASE("what has a limit is told, with two digits") {
  CHECK(what_is_left(duration::max(), no_limit).empty());
  CHECK(what_is_left(20s, with_tokens(3'041)) == "about 20 s and 3,000 tokens left");
  CHECK(what_is_left(duration::max(), with_tokens(99)) == "about 99 tokens left");
  CHECK(what_is_left(duration::max(), with_tokens(1)) == "about 1 token left");
  CHECK(what_is_left(duration::max(), with_tokens(128'999)) == "about 120,000 tokens left");
  spending all = with_tokens(0);
  all.tool_calls = 4;
  CHECK(what_is_left(5s, all) == "about 5 s, 0 tokens and 4 tool calls left");
  all.tool_calls = 1;
  all.tokens = unlimited;
  CHECK(what_is_left(duration::max(), all) == "about 1 tool call left");
}
