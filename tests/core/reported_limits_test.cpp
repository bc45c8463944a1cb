#include "core/reported_limits.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

instant at(duration since) { return instant{} + since; }

constexpr std::int64_t absurd = std::int64_t{1} << 40;

provider_limits requests(std::int64_t limit, std::int64_t remaining, duration reset = duration(-1)) {
  return {.requests = {limit, remaining, reset}};
}

/// How many of so much a request start at once.
int starting(reported_limits& limits, rate_charge each, instant now) {
  int started = 0;
  for (; started < 100'000 && limits.first_short(each, now) == rate_axis::none; ++started) limits.take(each, now);
  return started;
}

}  // namespace

TEST_CASE("nothing said is nothing known; a limit alone, or what remains alone, is not enough") {
  reported_limits limits;
  CHECK_FALSE(limits.any());
  limits.report({}, at(0s));
  limits.report(requests(60, unlimited), at(0s));
  limits.report(requests(unlimited, 3), at(0s));
  CHECK_FALSE(limits.any());
  CHECK(limits.available(rate_axis::requests, at(0s)) == unlimited);
  CHECK(limits.first_short({1'000'000, 0, 0}, at(0s)) == rate_axis::none);
  CHECK(limits.earliest({1'000'000, 0, 0}, at(0s)) == at(0s));
}

TEST_CASE("a limit and what remains of it are a rate of that limit, of which so much is there") {
  reported_limits limits;
  limits.report(requests(60, 3), at(0s));
  CHECK(limits.any());
  CHECK(limits.limit(rate_axis::requests, at(0s)) == 60);
  CHECK(limits.available(rate_axis::requests, at(0s)) == 3);
  CHECK(starting(limits, {1, 0, 0}, at(0s)) == 3);
  CHECK(limits.first_short({1, 0, 0}, at(0s)) == rate_axis::requests);
  CHECK(limits.earliest({1, 0, 0}, at(0s)) == at(1s));
  CHECK(limits.first_short({1, 0, 0}, at(1s) - 1ns) == rate_axis::requests);
  CHECK(limits.first_short({1, 0, 0}, at(1s)) == rate_axis::none);
}

TEST_CASE("a report lowers what is there, and never raises it: what was started since is not in its figure") {
  reported_limits limits;
  limits.report(requests(60, 10), at(0s));
  CHECK(starting(limits, {1, 0, 0}, at(0s)) == 10);
  // In answer to the first of them.
  limits.report(requests(60, 9), at(0s));
  CHECK(limits.available(rate_axis::requests, at(0s)) == 0);
  limits.report(requests(60, 1), at(5s));
  CHECK(limits.available(rate_axis::requests, at(5s)) == 1);
}

TEST_CASE("each axis has its own, and input and output together a fourth") {
  reported_limits limits;
  limits.report({.input_tokens = {600, 100}, .output_tokens = {600, 50}, .tokens = {6'000, 130}}, at(0s));
  CHECK(limits.first_short({1, 101, 0}, at(0s)) == rate_axis::input);
  CHECK(limits.first_short({1, 0, 51}, at(0s)) == rate_axis::output);
  CHECK(limits.first_short({1, 90, 41}, at(0s)) == rate_axis::tokens);
  CHECK(limits.first_short({1, 90, 40}, at(0s)) == rate_axis::none);
  limits.take({1, 90, 40}, at(0s));
  CHECK(limits.available(rate_axis::input, at(0s)) == 10);
  CHECK(limits.available(rate_axis::output, at(0s)) == 10);
  CHECK(limits.available(rate_axis::tokens, at(0s)) == 0);
  CHECK(limits.available(rate_axis::requests, at(0s)) == unlimited);
  // At a hundred a second the three parts of this are there at different times: the last decides.
  CHECK(limits.earliest({1, 20, 10}, at(0s)) == at(1s));
  CHECK(limits.earliest({1, 10, 10}, at(0s)) == at(200ms));
}

TEST_CASE("what remains until a reset, without a limit: no more than that starts before it") {
  reported_limits limits;
  limits.report(requests(unlimited, 2, 30s), at(10s));
  CHECK(limits.any());
  CHECK(limits.limit(rate_axis::requests, at(10s)) == 2);
  CHECK(starting(limits, {1, 0, 0}, at(10s)) == 2);
  CHECK(limits.first_short({1, 0, 0}, at(40s) - 1ns) == rate_axis::requests);
  CHECK(limits.earliest({1, 0, 0}, at(11s)) == at(40s));
  CHECK(limits.first_short({1, 0, 0}, at(40s)) == rate_axis::none);
  CHECK(limits.available(rate_axis::requests, at(40s)) == unlimited);
  // Another report before the reset may lower, and bring it nearer, but neither raise nor put off.
  limits.report(requests(unlimited, 5, 30s), at(50s));
  limits.report(requests(unlimited, 9, 60s), at(51s));
  CHECK(limits.available(rate_axis::requests, at(51s)) == 5);
  CHECK(limits.earliest({6, 0, 0}, at(51s)) == at(80s));
  limits.report(requests(unlimited, 4, 3s), at(52s));
  CHECK(limits.available(rate_axis::requests, at(52s)) == 4);
  CHECK(limits.earliest({6, 0, 0}, at(52s)) == at(55s));
}

TEST_CASE("where the policy has a rate, what remains is enough: its rate is the cell's") {
  reported_limits limits;
  limits.configure({.requests = {120, 10}});
  limits.report(requests(unlimited, 1), at(0s));
  CHECK(limits.limit(rate_axis::requests, at(0s)) == 10);
  CHECK(starting(limits, {1, 0, 0}, at(0s)) == 1);
  CHECK(limits.earliest({1, 0, 0}, at(0s)) == at(500ms));
  // More than the burst is never there.
  limits.report(requests(unlimited, 1'000), at(1h));
  CHECK(limits.available(rate_axis::requests, at(1h)) == 10);
}

TEST_CASE("what is larger than the limit goes when all of it is there") {
  reported_limits limits;
  limits.report({.input_tokens = {600, 600}}, at(0s));
  CHECK(limits.first_short({1, 5'000, 0}, at(0s)) == rate_axis::none);
  limits.take({1, 5'000, 0}, at(0s));
  CHECK(limits.earliest({1, 5'000, 0}, at(0s)) == at(60s));
  CHECK(limits.earliest({1, 1, 0}, at(0s)) == at(100ms));
}

TEST_CASE("numbers that make no sense leave no debt for ages") {
  reported_limits limits;
  limits.report(requests(60, -7), at(0s));
  CHECK(limits.available(rate_axis::requests, at(0s)) == 0);
  CHECK(limits.earliest({1, 0, 0}, at(0s)) == at(1s));
  limits.report(requests(-60, 5), at(0s));
  limits.report(requests(0, 5), at(0s));
  CHECK(limits.earliest({1, 0, 0}, at(0s)) == at(1s));
  limits.report(requests(absurd, absurd), at(0s));
  CHECK(limits.available(rate_axis::requests, at(0s)) <= absurd);
  // From a great limit to a small one: what is owed is a burst of the small one at most.
  limits.report(requests(1'000'000, 0), at(1s));
  limits.report(requests(60, 0), at(1s));
  CHECK(limits.earliest({1, 0, 0}, at(1s)) == at(2s));
  // A reset in thirty hours is one in ten minutes.
  reported_limits others;
  others.report(requests(unlimited, 0, 30h), at(0s));
  CHECK(others.earliest({1, 0, 0}, at(0s)) == at(10min));
  others.report(requests(unlimited, 0, 0s), at(20min));
  CHECK_FALSE(others.any());
}

TEST_CASE("a usage of 2^40 is charged as one burst beyond what was reserved") {
  reported_limits limits;
  limits.report({.input_tokens = {600, 600}, .tokens = {6'000, 6'000}}, at(0s));
  limits.take({1, 100, 0}, at(1s));
  limits.correct({1, 100, 0}, {1, absurd, 0}, at(1s), at(1s));
  // 100 and 600 at ten a second.
  CHECK(limits.earliest({1, 1, 0}, at(1s)) == at(1s) + 10s + 100ms);
  CHECK(limits.available(rate_axis::tokens, at(1s)) == -100);
}

TEST_CASE("what was not used comes back, unless the provider has counted it itself") {
  reported_limits limits;
  limits.report({.output_tokens = {600, 500}}, at(0s));
  limits.take({1, 0, 300}, at(1s));
  CHECK(limits.available(rate_axis::output, at(1s)) == 210);
  limits.correct({1, 0, 300}, {1, 0, 100}, at(1s), at(1s));
  CHECK(limits.available(rate_axis::output, at(1s)) == 410);
  limits.take({1, 0, 300}, at(2s));
  // In its answer the provider says what remains: less than was reckoned here.
  limits.report({.output_tokens = {600, 50}}, at(3s));
  limits.correct({1, 0, 300}, {1, 0, 100}, at(2s), at(3s));
  CHECK(limits.available(rate_axis::output, at(3s)) == 50);
  limits.take({1, 0, 40}, at(4s));
  limits.correct({1, 0, 40}, {1, 0, 10}, at(4s), at(4s));
  CHECK(limits.available(rate_axis::output, at(4s)) == 50);
}

TEST_CASE("before a reset as well: never more than was said") {
  reported_limits limits;
  limits.report({.output_tokens = {unlimited, 100, 1min}}, at(0s));
  limits.take({1, 0, 60}, at(1s));
  CHECK(limits.available(rate_axis::output, at(1s)) == 40);
  limits.correct({1, 0, 60}, {1, 0, 10}, at(1s), at(2s));
  CHECK(limits.available(rate_axis::output, at(2s)) == 90);
  // What started before it was said is in its figure.
  limits.correct({1, 0, 60}, {1, 0, 10}, at(-1ns), at(2s));
  CHECK(limits.available(rate_axis::output, at(2s)) == 90);
  limits.correct({1, 0, 10}, {1, 0, 30}, at(-1ns), at(2s));
  CHECK(limits.available(rate_axis::output, at(2s)) == 70);
  limits.correct({1, 0, 10}, {1, 0, absurd}, at(1s), at(2s));
  CHECK(limits.available(rate_axis::output, at(2s)) == 0);
}

TEST_CASE("what is not said again for ten minutes is forgotten") {
  reported_limits limits;
  limits.report(requests(1, 0), at(0s));
  // At one a minute, and then it does not matter any more.
  limits.take({1, 0, 0}, at(1min));
  for (int i = 0; i < 30; ++i) limits.take({1, 0, 0}, at(9min));
  CHECK(limits.earliest({1, 0, 0}, at(9min)) == at(10min));
  CHECK(limits.first_short({1, 0, 0}, at(10min) - 1ns) == rate_axis::requests);
  CHECK(limits.first_short({1, 0, 0}, at(10min)) == rate_axis::none);
  CHECK(limits.any());
  limits.take({1, 0, 0}, at(10min));
  CHECK_FALSE(limits.any());
  // Said anew, it begins anew.
  limits.report(requests(60, 60), at(11min));
  CHECK(limits.available(rate_axis::requests, at(11min)) == 60);
  limits.report(requests(60, 59), at(20min));
  CHECK(limits.first_short({61, 0, 0}, at(29min)) == rate_axis::none);
  CHECK(limits.limit(rate_axis::requests, at(29min)) == 60);
}
