// What would become of work. That it becomes of it is shown over random states in admission_property_test.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

TEST_CASE("where there is room and nobody waits, work would start at once") {
  logged_gate gate(bare({2, 100}));
  CHECK(gate.would({.tokens = 100}) == "at once");
  CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
  CHECK(gate.would({.tokens = 40}) == "at once");
  CHECK(gate.would({.tokens = 41}) == "waits");
  CHECK(gate.would({.tokens = 41}, interactive, {.may_wait = false}) == "no_room");
  CHECK(gate.last.bound == constraint::pool_tokens);
  CHECK(gate.last.shortfall == 1);
}

TEST_CASE("what would be refused is refused with the reason and the numbers it would have") {
  auto rules = bare({2, 100});
  rules.max_waiting = 1;
  logged_gate gate(rules);
  CHECK(gate.would({.tokens = 101}) == "impossible");
  CHECK(gate.last.limit == 100);
  CHECK(gate.would({.tokens = -1}) == "invalid_cost");
  CHECK(gate.would({}, workload(9)) == "unknown_class");
  CHECK(gate.would({}, interactive, {.deadline = gate.now}) == "deadline_passed");
  CHECK(gate.arrive("a", {.tokens = 100}) == "granted a");
  CHECK(gate.would({.tokens = 8}) == "waits");
  CHECK(gate.arrive("b", {.tokens = 8}) == "-");
  CHECK(gate.would({.tokens = 8}) == "queue_full");
  CHECK(gate.last.bound == constraint::queue);
  // To within a factor of two the youngest is the worst; a smaller one would take the place.
  CHECK(gate.would({.tokens = 7}) == "waits");
  CHECK(gate.close() == "rejected b (closed)");
  CHECK(gate.would({}) == "closed");
}

TEST_CASE("a class's own bound on its queue is told as such") {
  auto rules = bare({1, 100});
  rules[batch].max_waiting = 0;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 100}) == "granted a");
  CHECK(gate.would({.tokens = 1}, batch) == "queue_full");
  CHECK(gate.last.bound == constraint::class_queue);
  CHECK(gate.would({.tokens = 1}) == "waits");
}

TEST_CASE("one of higher priority would start where one of lower priority waits") {
  auto rules = bare({4, 100});
  rules[interactive].priority = 1;
  rules[batch].ceiling.slots = 1;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 10}, batch) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 10}, batch) == "-");
  CHECK(gate.would({.tokens = 10}) == "at once");
  CHECK(gate.would({.tokens = 10}, batch) == "waits");
  CHECK(gate.arrive("c", {.tokens = 10}) == "granted c");
}

TEST_CASE("a small one would pass a big one that waits for room, as long as the big one may be passed") {
  auto rules = bare({4, 100});
  rules.bypass = {.passes = 1, .patience = 1h};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
  CHECK(gate.arrive("big", {.tokens = 100}) == "-");
  CHECK(gate.would({.tokens = 15}) == "at once");
  CHECK(gate.would({.tokens = 15}, batch) == "at once");
  CHECK(gate.arrive("s", {.tokens = 15}) == "granted s");
  CHECK(gate.would({.tokens = 15}) == "waits");
  CHECK(gate.would({.tokens = 15}, batch) == "waits");
}

TEST_CASE("an earlier deadline comes first, and a tenant who has had less") {
  // Nobody passes the big one: what starts at once comes before it.
  logged_gate gate(bare({8, 100}));
  const tenant acme("acme");
  CHECK(gate.arrive("a", {.tokens = 60}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("big", {.tokens = 100}, interactive, {.deadline = gate.now + 1h, .tenant = acme}) == "-");
  CHECK(gate.would({.tokens = 10}, interactive, {.tenant = acme}) == "waits");
  CHECK(gate.would({.tokens = 10}, interactive, {.deadline = gate.now + 1h, .tenant = acme}) == "waits");
  CHECK(gate.would({.tokens = 10}, interactive, {.deadline = gate.now + 59min, .tenant = acme}) == "at once");
  CHECK(gate.would({.tokens = 10}, interactive, {.tenant = tenant("bcme")}) == "at once");
  CHECK(gate.arrive("c", {.tokens = 10}, interactive, {.tenant = tenant("bcme")}) == "granted c");
}

TEST_CASE("in a pause the wait is that of one who has the others before it") {
  logged_gate gate(bare({2, 100}));
  CHECK(gate.pause(gate.now + 1h) == "-");
  CHECK(gate.would({.tokens = 10}) == "waits for 3600000 ms");
  // A spread of a minute over two slots.
  CHECK(gate.arrive("a", {.tokens = 10}) == "-");
  CHECK(gate.would({.tokens = 10}) == "waits for 3630000 ms");
}

TEST_CASE("a tenant that nobody knows is not known by being asked about") {
  auto rules = bare({2, 100});
  rules.tenants.emplace_back("acme").rates.input_tokens = {600, 50};
  rules.max_tenants = 1;
  logged_gate gate(rules);
  const tenant acme("acme");
  CHECK(gate.would({.tokens = 51}, interactive, {.tenant = acme}) == "impossible");
  CHECK(gate.last.bound == constraint::tenant_input);
  CHECK(gate.would({.tokens = 50}, interactive, {.tenant = acme}) == "at once");
  CHECK(gate.machine.statistics().tenants == 0);
  CHECK(gate.arrive("a", {.tokens = 50}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.would({.tokens = 20}, interactive, {.tenant = acme}) == "waits for 2000 ms");
  CHECK(gate.would({.tokens = 20}, interactive, {.tenant = tenant("bcme")}) == "at once");
  CHECK(gate.machine.statistics().tenants == 1);
}

TEST_CASE("the wait for a rate is exact, and nothing is charged by asking") {
  auto rules = bare({10, 1'000});
  rules.rates.requests = {60, 1};
  logged_gate gate(rules);
  CHECK(gate.would({}) == "at once");
  CHECK(gate.would({}) == "at once");
  CHECK(gate.arrive("a", {}) == "granted a");
  gate.now += 250ms;
  CHECK(gate.would({}) == "waits for 750 ms");
  CHECK(gate.would({}, interactive, {.may_wait = false}) == "rate_limited");
}

TEST_CASE("the present of a question is not that of the gate") {
  auto rules = bare({10, 1'000});
  rules.rates.requests = {60, 1};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {}) == "granted a");
  const instant before = gate.machine.now();
  gate.now += 1s;
  CHECK(gate.would({}) == "at once");
  CHECK(gate.machine.now() == before);
  gate.now -= 500ms;
  CHECK(gate.would({}) == "waits for 500 ms");
}

TEST_CASE("work that a run cannot pay for now waits for an unknown time; never, when it never can") {
  logged_gate gate(bare({10, 1'000}));
  CHECK(gate.open_run("run", {.limit = {.tokens = 100}}) == "-");
  CHECK(gate.arrive("a", {.tokens = 60}, interactive, {.run = "run"}) == "granted a, budget at 50 %");
  CHECK(gate.would({.tokens = 40}, interactive, {.run = "run"}) == "at once");
  CHECK(gate.would({.tokens = 41}, interactive, {.run = "run"}) == "waits");
  CHECK(gate.would({.tokens = 101}, interactive, {.run = "run"}) == "budget_exhausted");
  CHECK(gate.balance("run").reserved.tokens == 60);
}

TEST_CASE("a policy that only observes lets everything well-formed start") {
  auto rules = bare({1, 100});
  rules.observe = true;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 100}) == "granted a");
  CHECK(gate.would({.tokens = 100}) == "at once");
  CHECK(gate.would({.tokens = 1'000}) == "at once");
  CHECK(gate.would({.tokens = -1}) == "invalid_cost");
}

TEST_CASE("what cannot be done by its deadline would be refused for that") {
  auto rules = bare({1, 10'000});
  rules.feasibility.enabled = true;
  logged_gate gate(rules);
  // Twelve of a second each, one after the other, while somebody waits.
  CHECK(gate.arrive("w0", {.tokens = 100, .output_tokens = 50}) == "granted w0");
  for (int i = 1; i <= 12; ++i) {
    const std::string name = "w" + std::to_string(i);
    CHECK(gate.arrive(name, {.tokens = 100, .output_tokens = 50}) == "-");
    gate.now += 1s;
    CHECK(gate.finish("w" + std::to_string(i - 1), usage{50, 50}) == "granted " + name);
  }
  CHECK(gate.would({.tokens = 100, .output_tokens = 50}, interactive, {.deadline = gate.now + 200ms}) == "infeasible");
  CHECK(gate.last.expected_service > 900ms);
  CHECK(gate.arrive("late", {.tokens = 100, .output_tokens = 50}, interactive, {.deadline = gate.now + 200ms}) ==
        "rejected late (infeasible)");
  CHECK(gate.would({.tokens = 100, .output_tokens = 50}, interactive, {.deadline = gate.now + 1min})
            .starts_with("waits for "));
}
