// Restoration of floors: who is stopped, for whom, and when.
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

std::string numbered(const char* name, int number) { return name + std::to_string(number); }

/// Two slots for interactive, restored within two seconds; batch may be stopped.
policy lending(capacity total = {4, 1'000}) {
  policy made = bare(total);
  made[interactive].priority = 1;
  made[interactive].floor = {2, total.tokens / 2};
  made[interactive].restore_within = 2s;
  made[batch].preemptible = true;
  return made;
}

/// Batch holds every slot: b0, b1, ... with 100 tokens each.
logged_gate lent(policy rules) {
  const auto slots = static_cast<int>(rules.total.slots);
  logged_gate gate(std::move(rules));
  for (int i = 0; i < slots; ++i) {
    CHECK(gate.arrive(numbered("b", i), {.tokens = 100, .output_tokens = 50}, batch) == "granted " + numbered("b", i));
    CHECK(gate.stoppable(numbered("b", i)) == "-");
  }
  return gate;
}

}  // namespace

TEST_CASE("after its patience the newest borrower is stopped, and its room goes to the owner") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  CHECK(gate.wake == instant{} + 2s);
  gate.now = instant{} + 2s - 1ns;
  CHECK(gate.tick() == "-");
  CHECK(gate.wake == instant{} + 2s);
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b3");
  CHECK(gate.tick() == "-");
  CHECK(gate.held() == 400);
  gate.now += 100ms;
  CHECK(gate.finish("b3", usage{50, 5}, ending::preempted) == "granted i");
  CHECK(gate.of(batch).preempted_total == 1);
  CHECK(gate.of(batch).wasted_tokens_total == 55);
  CHECK(gate.of(batch).consumed_tokens_total == 55);
}

TEST_CASE("half of the time to the deadline is the patience if that is less") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i", {}, interactive, {.deadline = instant{} + 3s}) == "-");
  CHECK(gate.wake == instant{} + 1500ms);
  gate.now = instant{} + 1500ms;
  CHECK(gate.tick() == "preempt b3");
}

TEST_CASE("a completion in time makes preemption needless") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i", {}) == "-");
  gate.now = instant{} + 1s;
  CHECK(gate.finish("b0") == "granted i");
  gate.now = instant{} + 5s;
  CHECK(gate.tick() == "-");
}

TEST_CASE("as many are stopped as the need asks for, no more") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i0", {}) == "-");
  CHECK(gate.arrive("i1", {}) == "-");
  CHECK(gate.arrive("i2", {}) == "-");
  gate.now = instant{} + 2s;
  // The floor is two slots; the third waits its turn.
  CHECK(gate.tick() == "preempt b3, preempt b2");
  CHECK(gate.finish("b3", {}, ending::preempted) == "granted i0");
  CHECK(gate.finish("b2", {}, ending::preempted) == "granted i1");
  gate.now += 1h;
  CHECK(gate.tick() == "-");
}

TEST_CASE("what is being reclaimed counts: a second waiter does not stop twice for the same need") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i0", {}) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b3");
  CHECK(gate.arrive("i1", {}) == "preempt b2");
  CHECK(gate.tick() == "-");
}

TEST_CASE("work that cannot be stopped is not, and is asked as soon as it can") {
  auto gate = lent(lending());
  for (int i = 0; i < 4; ++i) CHECK(gate.stoppable(numbered("b", i), false) == "-");
  CHECK(gate.arrive("i", {}) == "-");
  gate.now = instant{} + 3s;
  CHECK(gate.tick() == "-");
  CHECK(gate.stoppable("b1") == "preempt b1");
}

TEST_CASE("only borrowed capacity is reclaimed: batch keeps its own") {
  // 32 slots: batch took all by lending; interactive has a floor of 28.
  policy rules = bare({32, 3'200});
  rules[interactive].priority = 1;
  rules[interactive].floor = {28, 2'800};
  rules[batch].floor = {4, 400};
  rules[batch].preemptible = true;
  auto gate = lent(rules);
  for (int i = 0; i < 10; ++i) CHECK(gate.arrive(numbered("i", i), {.tokens = 100}) == "-");
  CHECK(gate.arrive("late batch", {.tokens = 100}, batch) == "-");
  // Each completion serves interactive.
  for (int i = 0; i < 3; ++i) CHECK(gate.finish(numbered("b", i)) == "granted " + numbered("i", i));
  gate.now = instant{} + 2s;
  std::string stopped = gate.tick();
  CHECK(stopped == "preempt b31, preempt b30, preempt b29, preempt b28, preempt b27, preempt b26, preempt b25");
  for (int i = 0; i < 7; ++i)
    CHECK(gate.finish(numbered("b", 31 - i), {}, ending::preempted) == "granted " + numbered("i", 3 + i));
  CHECK(gate.of(interactive).in_flight == 10);
  // Now 28 ask: batch is left with exactly its floor of four.
  for (int i = 10; i < 28; ++i) CHECK(gate.arrive(numbered("i", i), {.tokens = 100}) == "-");
  gate.now += 2s;
  stopped = gate.tick();
  for (int i = 24; i >= 7; --i)
    CHECK(gate.finish(numbered("b", i), {}, ending::preempted) == "granted " + numbered("i", 34 - i));
  CHECK(gate.of(batch).in_flight == 4);
  CHECK(gate.of(batch).borrowed.slots == 0);
  CHECK(gate.of(interactive).in_flight == 28);
  gate.now += 1h;
  CHECK(gate.arrive("i28", {.tokens = 100}) == "-");
  CHECK(gate.tick() == "-");
}

TEST_CASE("work of the same or a higher class, or of a class that is not preemptible, is not stopped") {
  auto rules = lending();
  SUBCASE("same priority") { rules[batch].priority = 1; }
  SUBCASE("higher priority") { rules[batch].priority = 2; }
  SUBCASE("not preemptible") { rules[batch].preemptible = false; }
  SUBCASE("preempted too often already") { rules.max_preemptions = 0; }
  auto gate = lent(rules);
  CHECK(gate.arrive("i", {}) == "-");
  gate.now = instant{} + 1h;
  CHECK(gate.tick() == "-");
}

TEST_CASE("past four fifths of its output work runs to its end") {
  auto gate = lent(lending());
  // The least has been spent on b3, but four fifths of its output are there; on the others as much, and b2 is the
  // newest.
  CHECK(gate.report("b3", {10, 40}) == "-");
  for (const char* other : {"b0", "b1", "b2"}) CHECK(gate.report(other, {50, 39}) == "-");
  CHECK(gate.arrive("i", {}) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b2");
}

TEST_CASE("one that would not help where it is missing is not stopped") {
  // Slots are missing, tokens are not: the newest holds no slot.
  auto rules = lending({4, 1'000});
  logged_gate gate(rules);
  for (int i = 0; i < 4; ++i)
    CHECK(gate.arrive(numbered("b", i), {.tokens = 10}, batch) == "granted " + numbered("b", i));
  CHECK(gate.arrive("tokens only", {.tokens = 100, .slots = 0}, batch) == "granted tokens only");
  for (const char* name : {"b0", "b1", "b2", "b3", "tokens only"}) CHECK(gate.stoppable(name) == "-");
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b3");
}

TEST_CASE("the lowest class is stopped first, though another one's work is newer") {
  auto rules = lending({4, 1'000});
  rules[interactive].priority = 9;
  rules[batch].priority = 3;
  class_policy low("low");
  low.preemptible = true;
  low.priority = 1;
  const workload lowest = rules.add_class(low);
  logged_gate gate(rules);
  CHECK(gate.arrive("l", {}, lowest) == "granted l");
  for (int i = 0; i < 3; ++i) CHECK(gate.arrive(numbered("b", i), {}, batch) == "granted " + numbered("b", i));
  for (const char* name : {"l", "b0", "b1", "b2"}) CHECK(gate.stoppable(name) == "-");
  CHECK(gate.arrive("i0", {}) == "-");
  CHECK(gate.arrive("i1", {}) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt l, preempt b2");
}

TEST_CASE("preempted work comes back to its old place, and at most so often") {
  auto rules = lending({1, 1'000});
  rules[interactive].floor = {1, 500};
  rules.max_preemptions = 2;
  logged_gate gate(rules);
  CHECK(gate.arrive("old", {}, batch) == "granted old");
  const age first = gate.age_of("old");
  CHECK(gate.arrive("young", {}, batch) == "-");
  age kept = first;
  for (int round = 1; round <= 2; ++round) {
    CHECK(gate.stoppable(round == 1 ? "old" : "old again") == "-");
    CHECK(gate.arrive(numbered("i", round), {}) == "-");
    gate.now += 2s;
    const std::string victim = round == 1 ? "old" : "old again";
    CHECK(gate.tick() == "preempt " + victim);
    kept = gate.age_of(victim);
    ++kept.preemptions;
    CHECK(gate.finish(victim, usage{5, 0}, ending::preempted) == "granted " + numbered("i", round));
    CHECK(gate.arrive("old again", {}, batch, {.age = kept}) == "-");
    // Before the one that came after it, whoever queued first.
    CHECK(gate.finish(numbered("i", round)) == "granted old again");
    CHECK(gate.age_of("old again").sequence == first.sequence);
    CHECK(gate.age_of("old again").arrived == first.arrived);
    CHECK(gate.age_of("old again").preemptions == round);
  }
  CHECK(gate.stoppable("old again") == "-");
  CHECK_FALSE(gate.machine.could_be_preempted(gate.id("old again")));
  CHECK(gate.arrive("i3", {}) == "-");
  gate.now += 1h;
  CHECK(gate.tick() == "-");
  CHECK(gate.of(batch).preempted_total == 2);
  CHECK(gate.of(batch).wasted_tokens_total == 10);
}

TEST_CASE("a victim that ends by itself is no waste") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i", {}) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b3");
  CHECK(gate.finish("b3", usage{50, 50}, ending::released) == "granted i");
  CHECK(gate.of(batch).preempted_total == 0);
  CHECK(gate.of(batch).wasted_tokens_total == 0);
}

TEST_CASE("work beyond its floor waits without preempting") {
  auto gate = lent(lending());
  CHECK(gate.arrive("wide", {.slots = 3}) == "-");
  gate.now = instant{} + 1h;
  CHECK(gate.tick() == "-");
}

TEST_CASE("that nearer deadlines come does not make the wait start anew") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i0", {.tokens = 10}, interactive, {.deadline = instant{} + 100s}) == "-");
  gate.now = instant{} + 1'500ms;
  CHECK(gate.arrive("i1", {.tokens = 10}, interactive, {.deadline = instant{} + 50s}) == "-");
  gate.now = instant{} + 2s - 1ns;
  CHECK(gate.tick() == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b3, preempt b2");
}

TEST_CASE("a class that has got something waits anew, from when its next came") {
  auto gate = lent(lending());
  CHECK(gate.arrive("i0", {.tokens = 10}) == "-");
  gate.now = instant{} + 1s;
  CHECK(gate.arrive("i1", {.tokens = 10}) == "-");
  gate.now = instant{} + 1'500ms;
  CHECK(gate.finish("b0") == "granted i0");
  gate.now = instant{} + 3s - 1ns;
  CHECK(gate.tick() == "-");
  gate.now = instant{} + 3s;
  CHECK(gate.tick() == "preempt b3");
}

TEST_CASE("of two classes that lack their floors each is restored: what comes back for one is not counted twice") {
  auto rules = lending();
  rules[interactive].priority = 9;
  rules[interactive].floor = {1, 300};
  class_policy middle("middle");
  middle.priority = 5;
  middle.floor = {1, 300};
  middle.restore_within = 2s;
  const workload second = rules.add_class(middle);
  auto gate = lent(rules);
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  CHECK(gate.arrive("m", {.tokens = 10}, second) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.tick() == "preempt b3, preempt b2");
  CHECK(gate.finish("b3", {}, ending::preempted) == "granted i");
  CHECK(gate.finish("b2", {}, ending::preempted) == "granted m");
}

TEST_CASE("of work that has reported nothing, what it has done is guessed by what is known of its like") {
  auto rules = lending({2, 10'000});
  rules[interactive].floor = {1, 5'000};
  rules.feasibility.enabled = true;
  logged_gate gate(rules);
  for (int i = 0; i < 5; ++i) {
    CHECK(gate.arrive("taught", {.tokens = 200, .output_tokens = 100}, batch) == "granted taught");
    gate.now += 1s;
    CHECK(gate.report("taught", {.input_tokens = 100, .output_tokens = 1}) == "-");
    gate.now += 1s;
    CHECK(gate.finish("taught", usage{100, 50}) == "-");
  }
  // The older one has read 10 tokens by now, the newer one 900.
  CHECK(gate.arrive("short", {.tokens = 110, .output_tokens = 100}, batch) == "granted short");
  CHECK(gate.arrive("long", {.tokens = 1'000, .output_tokens = 100}, batch) == "granted long");
  CHECK(gate.stoppable("short") == "-");
  CHECK(gate.stoppable("long") == "-");
  gate.now += 60s;
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  gate.now += 2s;
  CHECK(gate.tick() == "preempt short");
}
