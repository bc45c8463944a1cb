// The cases that a fail-fast gate for model calls is known by (async-bulkhead-llm), with their numbers. Those whose
// whole log stands in another test are named there:
//   1 classes with floors and ceilings                 floors_test: "an idle floor is lent", "without ceilings"
//   2 a chat and a document in one pool                admission_test: "slots and tokens are granted in one step"
//   3 progressive reconciliation                       reconciliation_test: "the prompt's part comes back"
//   4 a budget lowered below what is held, and raised  reconfiguration_test: "lowered below what is held"
//   5 revisions                                        reconfiguration_test: "a stale revision is refused"
//   6 the adaptive estimator                           is the client's: the core is told a cost, and makes none
//   7 a capacity of zero                               admission_test: "a capacity of zero is closed for now"
//   8 draining                                         closing_test: "an idle gate is drained at once"; the time limit
//   is
//                                                      the runtime's
//   10 a queue of one                                  shedding_test: "a queue of one"
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

std::string numbered(const char* name, int number) { return name + std::to_string(number); }

}  // namespace

TEST_CASE("case 1: where a strict floor stops premium at ten of twelve, an idle floor is lent until its owner comes") {
  // Floors 6 and 2, four shared. Strict: 6 + 4 for premium, never standard's 2. Here standard is idle, and premium has
  // no ceiling: twelve. What standard then asks for comes from the next that ends.
  auto rules = bare({12, 24'000});
  rules[interactive].floor = {6, 12'000};
  rules[batch].floor = {2, 4'000};
  logged_gate gate(rules);
  for (int i = 0; i < 12; ++i) CHECK(gate.arrive(numbered("p", i), {.tokens = 1'000}) == "granted " + numbered("p", i));
  CHECK(gate.of(interactive).borrowed == capacity{6, 0});
  CHECK(gate.arrive("s0", {.tokens = 1'000}, batch) == "-");
  CHECK(gate.arrive("p12", {.tokens = 1'000}) == "-");
  CHECK(gate.finish("p0") == "granted s0");
  CHECK(gate.finish("p1") == "granted p12");
}

TEST_CASE(
    "case 9: observing with a full pool runs the work, holds nothing, counts it with its reason; closing refuses") {
  auto rules = bare({1, 1'000});
  rules.observe = true;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 400}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 400}) == "granted b");
  CHECK(gate.held() == 400);
  CHECK(gate.all().held.slots == 1);
  CHECK(gate.all().observed_total == 1);
  const auto records = gate.machine.recent();
  REQUIRE(records.size() == 1);
  CHECK(records[0].observed);
  CHECK(records[0].outcome == outcome::waiting);
  CHECK(records[0].bound == constraint::pool_slots);
  CHECK(gate.close() == "-");
  CHECK(gate.arrive("c", {.tokens = 1}) == "rejected c (closed)");
}

TEST_CASE("case 11: batch has borrowed all 32 slots; ten interactive come, and batch keeps its own four") {
  policy rules = bare({32, 320});
  rules[interactive].priority = 1;
  rules[interactive].floor = {28, 280};
  rules[interactive].restore_within = 2s;
  rules[batch].floor = {4, 40};
  rules[batch].preemptible = true;
  logged_gate gate(rules);
  for (int i = 0; i < 32; ++i) {
    CHECK(gate.arrive(numbered("b", i), {.tokens = 10}, batch) == "granted " + numbered("b", i));
    CHECK(gate.stoppable(numbered("b", i)) == "-");
  }
  for (int i = 0; i < 10; ++i) CHECK(gate.arrive(numbered("i", i), {.tokens = 10}) == "-");
  CHECK(gate.arrive("more batch", {.tokens = 10}, batch) == "-");
  CHECK(gate.wake == instant{} + 2s);
  // No batch starts before interactive holds ten: each that ends serves it.
  for (int i = 0; i < 6; ++i) CHECK(gate.finish(numbered("b", i)) == "granted " + numbered("i", i));
  // Within two seconds of its wait, the four that are still missing are taken from the newest.
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b31, preempt b30, preempt b29, preempt b28");
  for (int i = 0; i < 4; ++i) {
    gate.now += 10ms;
    CHECK(gate.finish(numbered("b", 31 - i), {}, ending::preempted) == "granted " + numbered("i", 6 + i));
  }
  CHECK(gate.of(interactive).in_flight == 10);
  CHECK(gate.of(batch).in_flight == 22);
  // What comes free now is batch's again.
  CHECK(gate.finish("i0") == "granted more batch");
  CHECK(gate.stoppable("more batch") == "-");
  // Interactive wants more than its whole floor, and gets its 28; batch's four are not touched.
  for (int i = 10; i < 40; ++i) CHECK(gate.arrive(numbered("i", i), {.tokens = 10}) == "-");
  gate.now += 2s;
  std::string stopped = gate.tick();
  CHECK(stopped.starts_with("preempt more batch, preempt b27"));
  CHECK(std::count(stopped.begin(), stopped.end(), ',') == 19 - 1);
  CHECK(gate.finish("more batch", {}, ending::preempted) == "granted i10");
  for (int i = 0; i < 18; ++i) {
    CHECK(gate.finish(numbered("b", 27 - i), {}, ending::preempted) == "granted " + numbered("i", 11 + i));
  }
  CHECK(gate.of(interactive).in_flight == 28);
  CHECK(gate.of(batch).in_flight == 4);
  CHECK(gate.of(batch).borrowed == capacity{});
  gate.now += 1h;
  CHECK(gate.tick() == "-");
}

TEST_CASE(
    "case 12: the provider slows; what is in flight stays within the moving limit, what comes too late is told at "
    "once") {
  policy rules = bare({64, 1'000'000});
  rules.adaptive = {.enabled = true, .minimum = 2};
  rules.feasibility = {};
  logged_gate gate(rules);
  // Work of 100 + 50 that takes half a second, in waves, so that the model knows it.
  const cost asked{.tokens = 150, .output_tokens = 50};
  for (int wave = 0; wave < 10; ++wave) {
    for (int i = 0; i < 4; ++i) REQUIRE(gate.arrive(numbered("w", i), asked) == "granted " + numbered("w", i));
    gate.now += 500ms;
    for (int i = 0; i < 4; ++i) CHECK(gate.finish(numbered("w", i), usage{100, 50}) == "-");
  }
  CHECK(gate.machine.statistics().adaptive_limit == 64);
  // Sixty run and take eight seconds; the provider says that it is too much.
  for (int i = 0; i < 60; ++i) {
    REQUIRE(gate.arrive(numbered("s", i), asked) == "granted " + numbered("s", i));
  }
  std::int64_t before = 64;
  for (int second = 0; second < 8; ++second) {
    gate.signal(provider_signal::overloaded);
    const std::int64_t limit = gate.machine.statistics().adaptive_limit;
    CHECK(limit < before);
    before = limit;
    gate.now += 1s;
    // Nothing new starts while more is in flight than the limit.
    CHECK(gate.arrive(numbered("late", second), asked, interactive, {.may_wait = false}) ==
          "rejected " + numbered("late", second) + " (no_room)");
    CHECK(gate.last.bound == constraint::adaptive_limit);
    CHECK(gate.last.limit == limit);
  }
  CHECK(before == 2);
  CHECK(gate.machine.statistics().adaptive_reason == limit_change::overloaded);
  // Somebody waits while the sixty end, one each tenth of a second: the drain rate becomes known.
  for (int i = 0; i < 40; ++i)
    REQUIRE(gate.arrive(numbered("q", i), asked, interactive, {.deadline = gate.now + 60s}) == "-");
  for (int i = 0; i < 58; ++i) {
    gate.now += 100ms;
    gate.finish(numbered("s", i), usage{100, 50});
  }
  CHECK(gate.machine.in_flight() == 2);
  // Forty wait at ten a second at most; two seconds are too little, and that is said at once, with the estimate.
  CHECK(gate.arrive("x", asked, batch, {.deadline = gate.now + 100ms}) == "rejected x (infeasible)");
  CHECK(gate.last.could_start >= gate.now);
  CHECK(gate.last.expected_service > duration::zero());
  CHECK(gate.last.waited == duration::zero());
}
