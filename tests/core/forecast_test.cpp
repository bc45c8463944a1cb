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

TEST_CASE("what asks for no slot starts although its class is paused, also where nobody waits") {
  auto rules = bare({4, 1'000});
  rules[interactive].priority = 1;
  rules[batch].elastic = {.enabled = true, .minimum = 1, .backoff = 0.5, .target = 1s, .window = 1s, .pause = 10s};
  logged_gate gate(rules);
  CHECK(gate.arrive("holder", {.tokens = 900}) == "granted holder");
  CHECK(gate.arrive("i", {.tokens = 600}) == "-");
  gate.now += 1s + 1ms;
  gate.tick();
  CHECK(gate.finish("holder") == "granted i");
  CHECK(gate.of(batch).elastic_limit == 0);
  CHECK(gate.would({.tokens = 10}, batch) == "waits");
  CHECK(gate.would({.tokens = 10, .slots = 0}, batch) == "at once");
  CHECK(gate.arrive("b", {.tokens = 10, .slots = 0}, batch) == "granted b");
}

TEST_CASE("one that raises its class's moving ceiling by waiting for it would start at once") {
  auto rules = bare({8, 1'000});
  rules[interactive].priority = 1;
  rules[batch].elastic = {.enabled = true, .minimum = 2, .backoff = 0.5, .target = 1s, .window = 1s};
  logged_gate gate(rules);
  CHECK(gate.arrive("i", {.tokens = 10, .slots = 7}) == "granted i");
  CHECK(gate.arrive("j", {.tokens = 10, .slots = 2}) == "-");
  CHECK(gate.of(batch).elastic_limit == 2);
  CHECK(gate.cancel("j") == "-");
  CHECK(gate.finish("i") == "-");
  CHECK(gate.arrive("b0", {.tokens = 10, .slots = 2}, batch) == "granted b0");
  CHECK(gate.would({.tokens = 10}, batch) == "waits");
  gate.now += 1s;
  CHECK(gate.would({.tokens = 10}, batch, {.may_wait = false}) == "no_room");
  // It doubles.
  CHECK(gate.would({.tokens = 10, .slots = 3}, batch) == "waits");
  CHECK(gate.would({.tokens = 10}, batch) == "at once");
  CHECK(gate.of(batch).elastic_limit == 2);
  CHECK(gate.arrive("b1", {.tokens = 10}, batch) == "granted b1");
  CHECK(gate.of(batch).elastic_limit == 4);
}

TEST_CASE("the work of a run has its run's place, once") {
  // Nobody passes the big ones: what starts at once comes before them.
  auto rules = bare({8, 100});
  const auto fill = [](logged_gate& gate) {
    CHECK(gate.open_run("old", {}) == "-");
    CHECK(gate.open_run("new", {}) == "-");
    CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
    CHECK(gate.arrive("big", {.tokens = 100}, interactive, {.run = "new"}) == "-");
  };
  logged_gate gate(rules);
  fill(gate);
  CHECK(gate.would({.tokens = 10}) == "waits");
  // Another one of its own run comes behind it, but with a deadline.
  CHECK(gate.would({.tokens = 10}, interactive, {.run = "new"}) == "waits");
  CHECK(gate.would({.tokens = 10}, interactive, {.deadline = gate.now + 1h, .run = "new"}) == "at once");
  // An older task comes first.
  CHECK(gate.would({.tokens = 10}, interactive, {.run = "old"}) == "at once");
  CHECK(gate.arrive("o", {.tokens = 10}, interactive, {.run = "old"}) == "granted o");
  // Work beside what it has under way has no claim to that place.
  CHECK(gate.would({.tokens = 10}, interactive, {.run = "old"}) == "waits");
  CHECK(gate.finish("o") == "-");
  CHECK(gate.would({.tokens = 10}, interactive, {.run = "old"}) == "at once");
  CHECK(gate.arrive("p", {.tokens = 10}, interactive, {.deadline = gate.now + 1h, .run = "new"}) == "granted p");
}

TEST_CASE("what comes again comes with its age, and its place") {
  logged_gate gate(bare({8, 100}));
  CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
  CHECK(gate.arrive("old", {.tokens = 10}) == "granted old");
  gate.now += 1s;
  CHECK(gate.arrive("big", {.tokens = 100}) == "-");
  const age kept = gate.age_of("old");
  CHECK(gate.finish("old", {}, ending::preempted) == "-");
  CHECK(gate.would({.tokens = 10}) == "waits");
  CHECK(gate.would({.tokens = 10}, interactive, {.age = kept}) == "at once");
  CHECK(gate.arrive("again", {.tokens = 10}, interactive, {.age = kept}) == "granted again");
}

TEST_CASE("in overload the cheapest would come first") {
  auto rules = bare({2, 10'000});
  rules.overload = {.enabled = true, .enter = 0.02, .leave = 0.005, .window = 10s, .age_cap = 30s};
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {.tokens = 6'000}) == "granted running");
  CHECK(gate.arrive("doomed", {.tokens = 5'000}, interactive, {.deadline = instant{} + 1s}) == "-");
  for (int i = 0; i < 19; ++i)
    CHECK(gate.arrive("f" + std::to_string(i), {.tokens = 5'000}, interactive, {.deadline = instant{} + 900s}) == "-");
  CHECK(gate.would({.tokens = 4'000}, interactive, {.deadline = instant{} + 950s}) == "waits");
  gate.now = instant{} + 1s;
  CHECK(gate.tick() == "rejected doomed (deadline_in_queue)");
  CHECK(gate.of(interactive).overloaded);
  CHECK(gate.would({.tokens = 4'000}, interactive, {.deadline = instant{} + 950s}) == "at once");
  CHECK(gate.would({.tokens = 4'001}, interactive, {.deadline = instant{} + 950s}) == "waits");
  CHECK(gate.arrive("cheap", {.tokens = 4'000}, interactive, {.deadline = instant{} + 950s}) == "granted cheap");
}

TEST_CASE("one that joins a tenant without rate waits behind its next, which is looked at again") {
  auto rules = bare({8, 1'000});
  rules.tenants.emplace_back("acme").rates.input_tokens = {60, 100};
  rules[interactive].start_within = 5s;
  rules.overload.age_cap = 20s;
  logged_gate gate(rules);
  const tenant acme("acme");
  CHECK(gate.arrive("a", {.tokens = 80}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("large", {.tokens = 90}, interactive, {.tenant = acme}) == "-");
  // What fits into what is left of the rate waits all the same.
  CHECK(gate.would({.tokens = 10}, interactive, {.may_wait = false, .tenant = acme}) == "no_room");
  // From then on it lets others of its tenant pass; and when it has waited for long, no longer.
  gate.now += 5s;
  CHECK(gate.would({.tokens = 10}, interactive, {.may_wait = false, .tenant = acme}) == "no_room");
  gate.now += 1ns;
  CHECK(gate.would({.tokens = 10}, interactive, {.may_wait = false, .tenant = acme}) == "at once");
  gate.now = instant{} + 20s;
  CHECK(gate.would({.tokens = 10}, interactive, {.may_wait = false, .tenant = acme}) == "no_room");
}

TEST_CASE("one that is too late by now, and is looked at again, leaves its place in a full queue") {
  auto rules = bare({8, 10'000});
  rules.feasibility = {.enabled = true, .service_share = 1, .wait_share = 0.01, .run_share = 0};
  rules.tenants.emplace_back("acme").rates.input_tokens = {60, 100};
  rules[interactive].max_waiting = 1;
  logged_gate gate(rules);
  const tenant acme("acme");
  const cost whole{.tokens = 200, .output_tokens = 100};
  for (int i = 0; i < 5; ++i) {
    const std::string name = "sample" + std::to_string(i);
    CHECK(gate.arrive(name, whole) == "granted " + name);
    gate.now += 2s;
    CHECK(gate.finish(name, usage{100, 50}) == "-");
  }
  CHECK(gate.arrive("a", whole, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("late", whole, interactive, {.deadline = gate.now + 4s, .tenant = acme}) == "-");
  CHECK(gate.would(whole, interactive, {.tenant = acme}) == "queue_full");
  gate.now += 3s;
  CHECK(gate.would(whole, interactive, {.tenant = acme}).starts_with("waits"));
  CHECK(gate.arrive("b", whole, interactive, {.tenant = acme}) == "rejected late (infeasible)");
  CHECK(gate.machine.waiting() == 1);
}

TEST_CASE("one that others may pass leaves room for itself in a full queue") {
  auto rules = bare({4, 100});
  rules.bypass = {.passes = 1, .patience = 1h};
  rules[interactive].max_waiting = 2;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
  CHECK(gate.arrive("big", {.tokens = 100}) == "-");
  CHECK(gate.arrive("s", {.tokens = 15}) == "granted s");
  CHECK(gate.arrive("t", {.tokens = 15}) == "-");
  CHECK(gate.would({.tokens = 90}) == "queue_full");
  // The next of its class, which nobody has passed yet.
  CHECK(gate.would({.tokens = 90}, interactive, {.deadline = gate.now + 1h}) == "waits");
  CHECK(gate.arrive("urgent", {.tokens = 90}, interactive, {.deadline = gate.now + 1h}) == "granted t");
}

TEST_CASE("one for whose floor there must be room is held up by nobody who could take it") {
  auto rules = bare({8, 50});
  rules[interactive].floor = {6, 42};
  rules[batch].priority = 1;
  rules.rates.input_tokens = {60, 30};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 23}) == "granted a");
  // It waits for the rate, and lets nobody pass.
  CHECK(gate.arrive("b", {.tokens = 20}, batch) == "-");
  CHECK(gate.would({.tokens = 2, .output_tokens = 2}, workload(1)) == "waits");
  // Beyond its floor, of which 19 tokens are left. While they are wanted, there is no room for the other one anyway.
  CHECK(gate.would({.tokens = 21, .output_tokens = 19}) == "at once");
  CHECK(gate.arrive("c", {.tokens = 21, .output_tokens = 19}) == "granted c");
}

// An estimate: who could start without the one that is shed is not looked for, since whoever comes after that one would
// have to be found in the middle of the queue, and what it had set aside may let yet others join.
TEST_CASE("one for which another is shed may start sooner than is said") {
  auto rules = bare({2, 100});
  rules.max_waiting = 1;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
  CHECK(gate.arrive("big", {.tokens = 100}) == "-");
  CHECK(gate.would({.tokens = 10}) == "waits");
  CHECK(gate.arrive("small", {.tokens = 10}) == "rejected big (shed), granted small");
}
