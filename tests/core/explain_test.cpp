// The explain record of what waits, runs, was refused or is to stop: the bound, how much is ahead, when it could start,
// and that the shortfall, when it is added, really lets it in.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

/// The policy with `more` added to what is in the way.
policy raised(policy rules, constraint bound, std::int64_t more, workload which) {
  switch (bound) {
    case constraint::pool_slots:
    case constraint::protected_slots: rules.total.slots += more; break;
    case constraint::pool_tokens:
    case constraint::protected_tokens: rules.total.tokens += more; break;
    case constraint::class_slots: rules[which].ceiling.slots += more; break;
    case constraint::class_tokens: rules[which].ceiling.tokens += more; break;
    default: FAIL("no knob"); break;
  }
  ++rules.revision;
  return rules;
}

}  // namespace

TEST_CASE("the shortfall is the smallest addition to the bound that takes it out of the way") {
  std::mt19937_64 draw(5);
  const auto upto = [&draw](std::int64_t most) {
    return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most + 1));
  };
  std::array<int, constraint_count> seen{};
  for (int trial = 0; trial < 3'000; ++trial) {
    policy rules = bare({4 + upto(6), 100 + upto(200)});
    if (upto(2) == 0) rules[batch].ceiling = {2 + upto(4), 60 + upto(100)};
    logged_gate gate(rules);
    for (int i = 0; i < 6; ++i) {
      gate.arrive("h" + std::to_string(i), {.tokens = upto(60), .slots = upto(2)}, workload(upto(1) == 0 ? 0 : 1),
                  {.may_wait = false});
    }
    const cost asked{.tokens = upto(90), .slots = 1 + upto(2)};
    const workload which(upto(1) == 0 ? 0 : 1);
    const std::string said = gate.arrive("x", asked, which, {.may_wait = false});
    if (said == "granted x") continue;
    if (gate.last.reason != reason::no_room) continue;
    const decision first = gate.last;
    ++seen[static_cast<std::size_t>(first.bound)];
    REQUIRE(first.shortfall > 0);
    REQUIRE(first.limit > 0);
    const auto next = raised(rules, first.bound, first.shortfall - 1, which);
    REQUIRE(gate.reconfigure(next) == "-");
    REQUIRE(gate.arrive("y", asked, which, {.may_wait = false}) == "rejected y (no_room)");
    REQUIRE(gate.last.bound == first.bound);
    REQUIRE(gate.last.shortfall == 1);
    REQUIRE(gate.reconfigure(raised(next, first.bound, 1, which)) == "-");
    const bool in = gate.arrive("z", asked, which, {.may_wait = false}) == "granted z";
    // In, or another bound is in the way now.
    REQUIRE((in || gate.last.bound != first.bound));
  }
  for (const constraint bound :
       {constraint::pool_slots, constraint::pool_tokens, constraint::class_slots, constraint::class_tokens}) {
    CAPTURE(to_string(bound));
    CHECK(seen[static_cast<std::size_t>(bound)] > 20);
  }
}

TEST_CASE("what is protected for others: the shortfall is what the pool lacks") {
  auto rules = bare({4, 100});
  rules[interactive].floor = {3, 60};
  rules[interactive].ceiling = {3, 100};
  logged_gate gate(rules);
  CHECK(gate.arrive("h", {.tokens = 50, .slots = 2}, batch) == "granted h");
  CHECK(gate.arrive("i", {.tokens = 60, .slots = 3}) == "-");
  CHECK(gate.arrive("x", {.tokens = 1, .slots = 1}, batch, {.may_wait = false}) == "rejected x (no_room)");
  CHECK(gate.last.bound == constraint::protected_slots);
  CHECK(gate.last.limit == 4);
  CHECK(gate.last.available == 0);
  // Two are free and three are kept; with two more, i has its three, and x the fourth.
  CHECK(gate.last.shortfall == 2);
  CHECK(gate.reconfigure(raised(rules, constraint::protected_slots, 2, batch)) == "-");
  CHECK(gate.explain("i").bound == constraint::pool_tokens);
  CHECK(gate.arrive("y", {.tokens = 1, .slots = 1}, batch, {.may_wait = false}) == "rejected y (no_room)");
  CHECK(gate.last.bound == constraint::protected_tokens);
  CHECK(gate.last.shortfall == 11);
}

TEST_CASE("a rate's shortfall is what the burst lacks") {
  auto rules = bare({100, 100'000});
  rules.rates.input_tokens = {600, 100};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 70}) == "granted a");
  CHECK(gate.arrive("x", {.tokens = 45}, interactive, {.may_wait = false}) == "rejected x (rate_limited)");
  CHECK(gate.last.shortfall == 15);
  rules.rates.input_tokens.burst = 114;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "-");
  CHECK(gate.arrive("y", {.tokens = 45}, interactive, {.may_wait = false}) == "rejected y (rate_limited)");
  CHECK(gate.last.shortfall == 1);
  rules.rates.input_tokens.burst = 115;
  rules.revision = 3;
  CHECK(gate.reconfigure(rules) == "-");
  CHECK(gate.arrive("z", {.tokens = 45}, interactive, {.may_wait = false}) == "granted z");
}

TEST_CASE("ahead are the others of the class and all of higher classes, with what they ask for") {
  auto rules = bare({1, 1'000});
  rules[interactive].priority = 1;
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {}) == "granted running");
  CHECK(gate.arrive("b0", {.tokens = 10}, batch) == "-");
  CHECK(gate.arrive("i0", {.tokens = 100}) == "-");
  CHECK(gate.arrive("b1", {.tokens = 20}, batch) == "-");
  CHECK(gate.explain("b1").ahead == 2);
  CHECK(gate.explain("b1").ahead_tokens == 110);
  CHECK(gate.explain("i0").ahead == 0);
  CHECK(gate.explain("i0").ahead_tokens == 0);
  CHECK(gate.arrive("b2", {}, batch, {.may_wait = false}) == "rejected b2 (no_room)");
  CHECK(gate.last.ahead == 3);
  CHECK(gate.last.ahead_tokens == 130);
}

TEST_CASE("records are kept of waits, rejections and preemptions, the oldest first, as many as the policy says") {
  auto rules = bare({1, 1'000});
  rules.explain_records = 4;
  rules[interactive].priority = 1;
  rules[interactive].floor = {1, 1'000};
  rules[interactive].restore_within = 1s;
  rules[batch].preemptible = true;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 1}, batch) == "granted a");
  CHECK(gate.stoppable("a") == "-");
  CHECK(gate.machine.recent().empty());
  CHECK(gate.arrive("b", {.tokens = 2}) == "-");
  CHECK(gate.arrive("c", {.tokens = 2'000}) == "rejected c (impossible)");
  gate.now += 1s;
  CHECK(gate.tick() == "preempt a");
  auto kept = gate.machine.recent();
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].outcome == outcome::waiting);
  CHECK(kept[0].asked.tokens == 2);
  CHECK(kept[0].at == instant{});
  CHECK(kept[1].outcome == outcome::rejected);
  CHECK(kept[1].reason == reason::impossible);
  CHECK(kept[2].outcome == outcome::preempted);
  CHECK(kept[2].workload == batch);
  CHECK(kept[2].at == instant{} + 1s);
  for (int i = 0; i < 3; ++i) gate.arrive("more", {.tokens = 3'000 + i});
  kept = gate.machine.recent();
  REQUIRE(kept.size() == 4);
  CHECK(kept[0].outcome == outcome::preempted);
  CHECK(kept[3].asked.tokens == 3'002);
  rules.explain_records = 0;
  rules.revision = 2;
  gate.reconfigure(rules);
  CHECK(gate.machine.recent().empty());
}

TEST_CASE(
    "when a waiter could start is as good as what is known: exact for a rate, an estimate in a queue, never else") {
  auto rules = bare({1, 1'000'000});
  rules.feasibility.enabled = true;
  logged_gate gate(rules);
  for (int i = 0; i < 20; ++i) gate.arrive("w" + std::to_string(i), {.tokens = 10});
  CHECK(gate.explain("w19").could_start == never);
  for (int i = 0; i < 8; ++i) {
    gate.now += 1s;
    gate.finish("w" + std::to_string(i));
  }
  // Eleven wait, the last behind ten, with about a second for each.
  const double estimate = std::chrono::duration<double>(gate.explain("w19").could_start - gate.now).count();
  CHECK(estimate == doctest::Approx(11 * 0.966).epsilon(0.02));
}
