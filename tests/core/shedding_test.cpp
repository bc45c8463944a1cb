// The bound on the queue, and who goes when it is reached.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

/// One slot, taken; `places` in the queue.
logged_gate full(std::size_t places, policy rules = bare({1, 1'000'000})) {
  rules.max_waiting = places;
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {}) == "granted running");
  return gate;
}

}  // namespace

TEST_CASE("a queue of one: one runs, one waits, one more is refused; a cancelled waiter frees the place") {
  auto gate = full(1);
  CHECK(gate.arrive("waiter", {.tokens = 100}) == "-");
  CHECK(gate.arrive("more", {.tokens = 100}) == "rejected more (queue_full)");
  CHECK(gate.last.bound == constraint::queue);
  CHECK(gate.last.limit == 1);
  CHECK(gate.last.shortfall == 1);
  CHECK(gate.cancel("waiter") == "-");
  CHECK(gate.all().queued == capacity{});
  CHECK(gate.all().reserved_tokens_total == 0);
  CHECK(gate.arrive("again", {.tokens = 100}) == "-");
}

TEST_CASE("a queue of zero places: what has no room is refused") {
  auto gate = full(0);
  CHECK(gate.arrive("a", {}) == "rejected a (queue_full)");
  CHECK(gate.finish("running") == "-");
  CHECK(gate.arrive("b", {}) == "granted b");
}

TEST_CASE("the costliest goes, to within a factor of two, and of those the youngest") {
  auto gate = full(3);
  CHECK(gate.arrive("512", {.tokens = 512}) == "-");
  CHECK(gate.arrive("1000", {.tokens = 1'000}) == "-");
  CHECK(gate.arrive("100", {.tokens = 100}) == "-");
  // 512 and 1,000 are in one power of two: the younger of them goes, though 1,000 is not the reason.
  CHECK(gate.arrive("200", {.tokens = 200}) == "rejected 1000 (shed)");
  CHECK(gate.all().shed_total == 1);
  CHECK(gate.arrive("600", {.tokens = 600}) == "rejected 600 (queue_full)");
  CHECK(gate.all().shed_total == 1);
  CHECK(gate.all().rejected_total == 2);
  CHECK(gate.arrive("1", {.tokens = 1}) == "rejected 512 (shed)");
}

TEST_CASE("the lowest class goes first, whatever it costs") {
  auto rules = bare({1, 1'000'000});
  rules[interactive].priority = 1;
  auto gate = full(2, rules);
  CHECK(gate.arrive("cheap batch", {.tokens = 1}, batch) == "-");
  CHECK(gate.arrive("dear interactive", {.tokens = 900'000}) == "-");
  CHECK(gate.arrive("more", {.tokens = 5}) == "rejected cheap batch (shed)");
  CHECK(gate.arrive("batch again", {.tokens = 1}, batch) == "rejected batch again (queue_full)");
}

TEST_CASE("what waits within its floor is not shed for others, and goes only for its own") {
  auto rules = bare({2, 1'000'000});
  rules[interactive].priority = 1;
  rules[batch].floor = {1, 1'000};
  rules.max_waiting = 2;
  logged_gate gate(rules);
  CHECK(gate.arrive("wide", {.slots = 2}) == "granted wide");
  CHECK(gate.arrive("b", {.tokens = 900}, batch) == "-");
  CHECK(gate.arrive("i0", {.tokens = 10}) == "-");
  CHECK(gate.arrive("i1", {.tokens = 20}) == "rejected i1 (queue_full)");
  // A second one is beyond the floor of one slot.
  CHECK(gate.arrive("b1", {.tokens = 10}, batch) == "rejected b (shed)");
}

TEST_CASE("if all wait within their floors, the newcomer goes") {
  auto rules = bare({2, 1'000});
  rules[interactive].floor = {1, 100};
  rules[batch].floor = {1, 100};
  rules.max_waiting = 1;
  class_policy holder("holder");
  const workload third = rules.add_class(holder);
  logged_gate gate(rules);
  CHECK(gate.arrive("h", {.slots = 2}, third) == "granted h");
  CHECK(gate.arrive("i", {.tokens = 50}) == "-");
  CHECK(gate.arrive("b", {.tokens = 1}, batch) == "rejected b (queue_full)");
}

TEST_CASE("a class has a bound of its own") {
  auto rules = bare({1, 1'000'000});
  rules[batch].max_waiting = 1;
  auto gate = full(100, rules);
  CHECK(gate.arrive("b0", {.tokens = 10}, batch) == "-");
  CHECK(gate.arrive("i0", {.tokens = 10}) == "-");
  CHECK(gate.arrive("b1", {.tokens = 10}, batch) == "rejected b1 (queue_full)");
  CHECK(gate.last.bound == constraint::class_queue);
  CHECK(gate.last.limit == 1);
  CHECK(gate.arrive("b2", {.tokens = 1}, batch) == "rejected b0 (shed)");
  CHECK(gate.arrive("i1", {.tokens = 10}) == "-");
}

TEST_CASE("one that comes again with its age is older than those who came since") {
  auto gate = full(2);
  const age old{instant{}, 1, 1};
  CHECK(gate.arrive("x", {.tokens = 100}) == "-");
  CHECK(gate.arrive("y", {.tokens = 100}) == "-");
  CHECK(gate.arrive("returned", {.tokens = 100}, interactive, {.age = old}) == "rejected y (shed)");
  CHECK(gate.finish("running") == "granted returned");
}

TEST_CASE("shedding may make room for those who wait behind what went") {
  auto rules = bare({2, 100});
  rules[interactive].priority = 1;
  rules.max_waiting = 1;
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {.tokens = 50}) == "granted running");
  CHECK(gate.arrive("big", {.tokens = 80}) == "-");
  CHECK(gate.arrive("small", {.tokens = 20}) == "rejected big (shed), granted small");
}
