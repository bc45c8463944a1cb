#include <sluice/core/run.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

using namespace sluice;
using cause = charge_refusal::cause;

TEST_CASE("each axis has the name of its member") {
  std::set<std::string> names;
  for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
    names.insert(std::string(to_string(static_cast<budget_axis>(axis))));
  }
  CHECK(names == std::set<std::string>{"tokens", "calls", "tool_calls", "money"});
  CHECK(to_string(budget_axis::tool_calls) == "tool_calls");
  CHECK(to_string(static_cast<budget_axis>(9)) == "unknown");
}

TEST_CASE("nothing is spent, and nothing is limited, unless it is said") {
  CHECK(spending{} == spending{0, 0, 0, 0});
  CHECK(run_limits{} == run_limits{unlimited, unlimited, unlimited, unlimited});
  CHECK(run_balance{}.crossed == 0);
}

TEST_CASE("a charge that was refused says who cannot pay, the numbers, and the knob") {
  const charge_refusal spent{cause::exhausted, budget_axis::tool_calls, {3, 1}, 1'000, 2, 1, 3};
  CHECK(spent.code() == errc::refused);
  CHECK(
      spent.explain("nightly/research") ==
      "nightly/research has 2 of 1,000 tool calls left, 3 asked; raise the run's limit.tool_calls by 1 (extend_run) or "
      "ask for less");
  CHECK(spent.to_error() == error(errc::refused, spent.explain("run 3.1")));

  const charge_refusal aside{cause::set_aside, budget_axis::tokens, {0, 7}, 1, 0, 2'500, 2'500};
  CHECK(aside.code() == errc::refused);
  CHECK(aside.to_error().message() ==
        "run 0.7 has 0 of 1 token left beside what is set aside by work under way, 2,500 asked; charge it when some of "
        "that has ended, or raise the run's limit.tokens by 2,500 (extend_run)");

  const charge_refusal money{cause::exhausted, budget_axis::money, {3, 1}, 20, 1, 4, 5};
  CHECK(money.explain("r").starts_with("r has 1 of 20 units of money left, 5 asked; raise the run's limit.money by 4"));
  const charge_refusal calls{cause::exhausted, budget_axis::calls, {3, 1}, 1, 0, 1, 1};
  CHECK(calls.explain("r").starts_with("r has 0 of 1 call left, 1 asked; raise the run's limit.calls by 1 "));
}

TEST_CASE("a charge that makes no sense is told as such") {
  const charge_refusal closed{.why = cause::not_open, .who = {4, 2}};
  CHECK(closed.code() == errc::invalid_argument);
  CHECK(closed.to_error().is(errc::invalid_argument));
  CHECK(closed.to_error().message() == "run 4.2 is not open, or a run above it is not; charge it before it is closed");
  const charge_refusal negative{.why = cause::negative, .axis = budget_axis::money, .who = {4, 2}, .asked = -5};
  CHECK(negative.code() == errc::invalid_argument);
  CHECK(negative.to_error().message() == "money: must not be negative, is -5");
}
