#include "sim/driven_arm.hpp"

#include <sluice/core/error.hpp>
#include <sluice/sim/arms.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;

namespace {

constexpr instant now = instant{} + 1s;

// One class of two slots and 4,000 tokens, nothing protected and nobody stopped.
sluice::policy plain(sluice::capacity total = {2, 4'000}) {
  sluice::policy rules(total);
  for (auto& each : rules.classes) {
    each.floor = {};
    each.preemptible = false;
  }
  return rules;
}

}  // namespace

TEST_CASE("the policy decides: what has room starts, what has none waits for it") {
  test::driven_arm arm(make_policy_arm("sluice", plain()));
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  CHECK(arm.arrive(2, interactive, now) == "start 2");
  CHECK(arm.arrive(3, batch, now).empty());
  CHECK(arm.arrive(4, interactive, now).empty());
  CHECK(arm.level(interactive).held == 2);
  CHECK(arm.level(interactive).waiting == 1);
  CHECK(arm.level(batch).waiting == 1);
  CHECK(arm.ended(1, attempt_end::completed, now + 1s, {500, 100}) == "start 4");
  CHECK(arm.ended(2, attempt_end::completed, now + 2s, {500, 100}) == "start 3");
}

TEST_CASE("what a running attempt no longer needs goes to those that wait, as it reports") {
  test::driven_arm arm(make_policy_arm("sluice", plain({10, 2'500})));
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  CHECK(arm.arrive(2, interactive, now) == "start 2");
  CHECK(arm.arrive(3, interactive, now).empty());
  // After the prompt of 500 and 100 of 500 tokens: 400 to come, and the margin of 128.
  CHECK(arm.progressed(1, {500, 100}, now + 1s).empty());
  CHECK(arm.progressed(2, {500, 100}, now + 1s) == "start 3");
}

TEST_CASE("who still waits at its deadline is refused, at the instant the arm asked to be woken") {
  test::driven_arm arm(make_policy_arm("sluice", plain({1, 4'000})));
  CHECK(arm.arrive(1, interactive, now) == "start 1");
  arm.next.deadline = now + 5s;
  CHECK(arm.arrive(2, interactive, now).empty());
  CHECK(arm.wake() >= now + 5s);
  CHECK(arm.wake() <= now + 5s + 1ms);
  CHECK(arm.tick(arm.wake()) == "refuse 2 " + std::string(to_string(sluice::reason::deadline_in_queue)));
  CHECK(arm.level(interactive).waiting == 0);
}

TEST_CASE("who gives up makes way for those behind") {
  test::driven_arm arm(make_policy_arm("sluice", plain({1, 4'000})));
  arm.arrive(1, interactive, now);
  arm.arrive(2, interactive, now);
  arm.arrive(3, interactive, now);
  CHECK(arm.gave_up(2, now + 1s).empty());
  CHECK(arm.ended(1, attempt_end::abandoned, now + 1s, {10, 0}) == "start 3");
}

TEST_CASE("a borrower is stopped for the owner of a floor, and comes again with its age") {
  sluice::policy rules = plain({2, 4'000});
  rules[interactive].priority = 10;
  rules[interactive].floor = {1, 2'000};
  rules[interactive].restore_within = 100ms;
  rules[batch].preemptible = true;
  test::driven_arm arm(make_policy_arm("sluice", rules));
  CHECK(arm.arrive(1, batch, now) == "start 1");
  CHECK(arm.arrive(2, batch, now) == "start 2");
  CHECK(arm.level(batch).borrowed == 2);
  CHECK(arm.arrive(3, batch, now).empty());
  CHECK(arm.arrive(4, interactive, now + 1s).empty());
  REQUIRE(arm.wake() <= now + 1'101ms);
  const std::string stopped = arm.tick(now + 1'101ms);
  REQUIRE((stopped == "stop 1" || stopped == "stop 2"));
  const std::uint32_t victim = stopped == "stop 1" ? 1 : 2;
  const std::uint32_t other = 3 - victim;
  CHECK(arm.ended(victim, attempt_end::stopped, now + 1'101ms, {500, 10}) == "start 4");
  CHECK(arm.level(batch).waiting == 2);
  // It came before the third, and has kept its place.
  CHECK(arm.ended(other, attempt_end::completed, now + 2s, {500, 100}) == "start " + std::to_string(victim));
  CHECK(arm.ended(victim, attempt_end::completed, now + 3s, {500, 100}) == "start 3");
}

TEST_CASE("a policy that makes no sense is refused") {
  sluice::policy wrong({-1, 100});
  CHECK_THROWS_AS((void)make_policy_arm("sluice", wrong), sluice::error_exception);
}
