// What is learned, at the gate: the limit that follows the provider, and what the gate does when it only observes.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

/// Ten exchanges of 100 ms, one after the other.
void teach(logged_gate& gate) {
  for (int i = 0; i < 10; ++i) {
    const std::string name = "taught " + std::to_string(i);
    REQUIRE(gate.arrive(name, {.tokens = 20, .output_tokens = 10}) == "granted " + name);
    gate.now += 100ms;
    REQUIRE(gate.finish(name, usage{10, 5}) == "-");
  }
}

}  // namespace

TEST_CASE("the adaptive limit grows when work for one slot each waits for it") {
  auto rules = bare({10, 1'000});
  rules.adaptive.enabled = true;
  rules.adaptive.initial = 1;
  rules.adaptive.window = 1ms;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 10}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 10}) == "-");
  CHECK(gate.explain("b").bound == constraint::adaptive_limit);
  gate.now += 100ms;
  CHECK(gate.finish("a", usage{5, 5}) == "granted b");
  CHECK(gate.machine.statistics().adaptive_limit == 2);
  CHECK(gate.machine.statistics().adaptive_reason == limit_change::slow_start);
}

TEST_CASE("the adaptive limit grows when work waits for more slots than it leaves") {
  auto rules = bare({10, 1'000});
  rules.adaptive.enabled = true;
  rules.adaptive.initial = 3;
  rules.adaptive.window = 1ms;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 10, .slots = 2}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 10, .slots = 2}) == "-");
  gate.now += 100ms;
  CHECK(gate.finish("a", usage{5, 5}) == "granted b");
  CHECK(gate.machine.statistics().adaptive_limit == 4);
}

TEST_CASE("work that waits for its class's ceiling does not make the adaptive limit grow") {
  auto rules = bare({10, 1'000});
  rules[batch].ceiling.slots = 1;
  rules.adaptive.enabled = true;
  rules.adaptive.initial = 1;
  rules.adaptive.window = 1ms;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 10}, batch) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 10}, batch) == "-");
  gate.now += 100ms;
  CHECK(gate.finish("a", usage{5, 5}) == "granted b");
  CHECK(gate.machine.statistics().adaptive_limit == 1);
}

TEST_CASE("a gate that only observes lets work through that cannot be done in time") {
  auto rules = bare({1, 1'000});
  rules.feasibility.enabled = true;
  logged_gate gate(rules);
  teach(gate);
  CHECK(gate.arrive("late", {.tokens = 20, .output_tokens = 10}, interactive, {.deadline = gate.now + 10ms}) ==
        "rejected late (infeasible)");
  rules.observe = true;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "-");
  CHECK(gate.arrive("late again", {.tokens = 20, .output_tokens = 10}, interactive, {.deadline = gate.now + 10ms}) ==
        "granted late again");
  CHECK(gate.machine.recent().back().reason == reason::infeasible);
  CHECK(gate.machine.recent().back().observed);
  CHECK(gate.held() == 0);
}

TEST_CASE("when a gate begins to observe, what it would turn away runs as well") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("holds", {.tokens = 10}) == "granted holds");
  CHECK(gate.arrive("large", {.tokens = 500}) == "-");
  auto rules = bare({1, 100});
  rules.observe = true;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "granted large");
  CHECK(gate.machine.recent().back().reason == reason::impossible);
  CHECK(gate.held() == 10);
}

TEST_CASE("a signal that nobody listens to does not make time pass") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("holds", {}) == "granted holds");
  CHECK(gate.arrive("waits", {}, interactive, {.deadline = instant{} + 1s}) == "-");
  gate.now += 2s;
  CHECK(gate.signal(provider_signal::overloaded) == "-");
  CHECK(gate.pause(instant{}) == "-");
  CHECK(gate.tick() == "rejected waits (deadline_in_queue)");
}

TEST_CASE("a class that got something in the same event as its waiter went does not lack it any more") {
  auto rules = bare({4, 1'000});
  rules[interactive].floor = {3, 300};
  rules[interactive].restore_within = 2s;
  rules[interactive].priority = 1;
  rules[batch].preemptible = true;
  logged_gate gate(rules);
  for (const char* const name : {"b1", "b2", "b3", "b4"}) {
    CHECK(gate.arrive(name, {.tokens = 10}, batch) == std::string("granted ") + name);
    CHECK(gate.stoppable(name) == "-");
  }
  CHECK(gate.arrive("i1", {.tokens = 300, .slots = 3}, interactive, {.deadline = instant{} + 4s}) == "-");
  CHECK(gate.finish("b1") == "-");
  gate.now += 4s;
  // Its deadline has passed in the event in which another of the class starts.
  CHECK(gate.arrive("i2", {}, interactive) == "rejected i1 (deadline_in_queue), granted i2");
  CHECK(gate.arrive("i3", {}, interactive) == "-");
  gate.now += 1999ms;
  CHECK(gate.tick() == "-");
  gate.now += 1ms;
  CHECK(gate.tick() == "preempt b4");
}
