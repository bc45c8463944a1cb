// Deadlines in the queue, and the wish for a tick.
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

logged_gate full() {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("running", {.tokens = 500}) == "granted running");
  return gate;
}

}  // namespace

TEST_CASE("a deadline that passes in the queue, with what was in the way") {
  auto gate = full();
  CHECK(gate.arrive("a", {.tokens = 10}, interactive, {.deadline = instant{} + 3s}) == "-");
  CHECK(gate.wake == instant{} + 3s);
  gate.now = instant{} + 3s - 1ns;
  CHECK(gate.tick() == "-");
  gate.now = instant{} + 3s;
  CHECK(gate.tick() == "rejected a (deadline_in_queue)");
  CHECK(gate.last.bound == constraint::pool_slots);
  CHECK(gate.last.waited == 3s);
  CHECK(gate.last.deadline == instant{} + 3s);
  CHECK(gate.last.at == instant{} + 3s);
  CHECK(gate.all().expired_total == 1);
  CHECK(gate.all().rejected_total == 1);
  CHECK(gate.all().queued == capacity{});
}

TEST_CASE("a release at the very instant of the deadline: one outcome, and the capacity is not lost") {
  auto gate = full();
  CHECK(gate.arrive("a", {}, interactive, {.deadline = instant{} + 3s}) == "-");
  CHECK(gate.arrive("b", {}) == "-");
  gate.now = instant{} + 3s;
  CHECK(gate.finish("running") == "rejected a (deadline_in_queue), granted b");
  CHECK(gate.tick() == "-");
  CHECK(gate.all().in_flight == 1);
}

TEST_CASE("a release just before it: granted, and nothing expires") {
  auto gate = full();
  CHECK(gate.arrive("a", {}, interactive, {.deadline = instant{} + 3s}) == "-");
  gate.now = instant{} + 3s - 1ns;
  CHECK(gate.finish("running") == "granted a");
  gate.now = instant{} + 3s;
  CHECK(gate.tick() == "-");
}

TEST_CASE("any event turns away whose deadline has passed, even one that is refused itself or changes nothing") {
  const auto waiting = [] {
    auto gate = full();
    CHECK(gate.arrive("a", {}, interactive, {.deadline = instant{} + 1s}) == "-");
    gate.now = instant{} + 2s;
    return gate;
  };
  const std::string expired = "rejected a (deadline_in_queue)";
  CHECK(waiting().arrive("b", {.tokens = -1}) == "rejected b (invalid_cost), " + expired);
  CHECK(waiting().arrive("b", {}, interactive, {.deadline = instant{} + 1s}) ==
        "rejected b (deadline_passed), " + expired);
  CHECK(waiting().arrive("b", {}) == expired);
  CHECK(waiting().report("running", {.input_tokens = 0}) == expired);
  CHECK(waiting().stoppable("running") == expired);
  CHECK(waiting().finish("running") == expired);
  auto next = bare({1, 500});
  next.revision = 2;
  CHECK(waiting().reconfigure(next) == expired);
}

TEST_CASE("deadlines at the end of time are none") {
  auto gate = full();
  CHECK(gate.arrive("last", {}, interactive, {.deadline = never - 1ns}) == "-");
  CHECK(gate.arrive("never", {}, interactive, {.deadline = never}) == "-");
  CHECK(gate.arrive("soon", {}, interactive, {.deadline = instant{} + 24h * 365}) == "-");
  CHECK(gate.finish("running") == "granted soon");
  CHECK(gate.finish("soon") == "granted last");
  CHECK(gate.finish("last") == "granted never");
}

TEST_CASE("deadlines before the beginning of time have passed") {
  auto gate = full();
  CHECK(gate.arrive("a", {}, interactive, {.deadline = instant::min()}) == "rejected a (deadline_passed)");
  CHECK(gate.arrive("b", {}, interactive, {.deadline = instant{} - 1ns}) == "rejected b (deadline_passed)");
}

TEST_CASE("the wish for a tick follows the earliest deadline of any class") {
  auto gate = full();
  CHECK(gate.wake == never);
  CHECK(gate.arrive("a", {}, interactive, {.deadline = instant{} + 9s}) == "-");
  CHECK(gate.wake == instant{} + 9s);
  CHECK(gate.arrive("b", {}, batch, {.deadline = instant{} + 4s}) == "-");
  CHECK(gate.wake == instant{} + 4s);
  CHECK(gate.arrive("c", {}, batch, {.deadline = instant{} + 6s}) == "-");
  CHECK(gate.wake == instant{} + 4s);
  gate.now = instant{} + 4s;
  CHECK(gate.tick() == "rejected b (deadline_in_queue)");
  CHECK(gate.wake == instant{} + 6s);
  gate.now = instant{} + 6s;
  CHECK(gate.tick() == "rejected c (deadline_in_queue)");
  CHECK(gate.wake == instant{} + 9s);
}

TEST_CASE("when nobody waits any more, no tick is wanted") {
  auto gate = full();
  CHECK(gate.arrive("a", {}, interactive, {.deadline = instant{} + 9s}) == "-");
  CHECK(gate.wake == instant{} + 9s);
  CHECK(gate.finish("running") == "granted a");
  CHECK(gate.wake == never);
}

TEST_CASE("a hundred thousand deadlines at one instant") {
  auto rules = bare({1, 1'000});
  rules.max_waiting = 200'000;
  admission machine(rules);
  effects out;
  machine.arrive({}, instant{}, out);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    machine.arrive({.workload = workload(static_cast<std::uint8_t>(i % 2)), .deadline = instant{} + 1s, .tag = i},
                   instant{}, out);
  }
  out.clear();
  machine.tick(instant{} + 1s, out);
  CHECK(out.decisions.size() == 100'000);
  CHECK(machine.waiting() == 0);
  CHECK(machine.broken_invariant().value_or("") == "");
}

TEST_CASE("an event at no time at all comes now") {
  logged_gate gate(bare({1, 100}));
  gate.now = instant{} + 5s;
  CHECK(gate.arrive("a", {.tokens = 10}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 10}) == "-");
  gate.now = never;
  CHECK(gate.tick() == "-");
  CHECK(gate.machine.now() == instant{} + 5s);
  CHECK(gate.finish("a") == "granted b");
  CHECK(gate.tick() == "-");
}
