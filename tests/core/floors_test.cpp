// Floors: protected while they are wanted, lent while they are idle.
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

/// Premium in class 0, standard in class 1: 12 slots and 24,000 tokens; floors 6/12,000 and 2/4,000.
policy premium_and_standard() {
  policy made = bare({12, 24'000});
  made[interactive].floor = {6, 12'000};
  made[interactive].ceiling = {10, 20'000};
  made[batch].floor = {2, 4'000};
  made[batch].ceiling = {6, 10'000};
  return made;
}

}  // namespace

TEST_CASE("an idle floor is lent, up to the borrower's ceiling") {
  logged_gate gate(premium_and_standard());
  for (int i = 0; i < 10; ++i) CHECK(gate.arrive(numbered("p", i), {.tokens = 100}) == "granted " + numbered("p", i));
  CHECK(gate.arrive("p10", {.tokens = 100}) == "-");
  CHECK(gate.explain("p10").bound == constraint::class_slots);
  CHECK(gate.explain("p10").limit == 10);
  CHECK(gate.of(interactive).borrowed.slots == 4);
  CHECK(gate.arrive("s0", {.tokens = 100}, batch) == "granted s0");
  CHECK(gate.arrive("s1", {.tokens = 100}, batch) == "granted s1");
}

TEST_CASE("without ceilings everything is lent, and comes back as its owner queues") {
  auto rules = premium_and_standard();
  rules[interactive].ceiling = {unlimited, unlimited};
  logged_gate gate(rules);
  for (int i = 0; i < 12; ++i) CHECK(gate.arrive(numbered("p", i), {.tokens = 100}) == "granted " + numbered("p", i));
  CHECK(gate.arrive("s0", {.tokens = 100}, batch) == "-");
  CHECK(gate.arrive("s1", {.tokens = 100}, batch) == "-");
  CHECK(gate.arrive("s2", {.tokens = 100}, batch) == "-");
  CHECK(gate.arrive("p12", {.tokens = 100}) == "-");
  // Two places of its floor, and then priority is the same and premium stands first in the table.
  CHECK(gate.finish("p0") == "granted s0");
  CHECK(gate.finish("p1") == "granted s1");
  CHECK(gate.finish("p2") == "granted p12");
  CHECK(gate.finish("p3") == "granted s2");
}

TEST_CASE("the last slot is lent to a fourth request, where a strict floor would keep it idle") {
  // C 4, floors 2 and 1.
  auto rules = bare({4, unlimited});
  rules[interactive].floor = {2, 0};
  rules[batch].floor = {1, 0};
  logged_gate gate(rules);
  for (int i = 0; i < 4; ++i) CHECK(gate.arrive(numbered("p", i), {}) == "granted " + numbered("p", i));
  CHECK(gate.of(interactive).borrowed.slots == 2);
  CHECK(gate.arrive("s", {}, batch) == "-");
  // And its owner is the next, whoever else comes.
  CHECK(gate.arrive("p4", {}) == "-");
  CHECK(gate.finish("p0") == "granted s");
}

TEST_CASE("floors in tokens work as those in slots") {
  // B 2000, 400 each, token floors 400 and 800.
  auto rules = bare({100, 2'000});
  rules[interactive].floor = {10, 400};
  rules[batch].floor = {10, 800};
  logged_gate gate(rules);
  for (int i = 0; i < 3; ++i) CHECK(gate.arrive(numbered("p", i), {.tokens = 400}) == "granted " + numbered("p", i));
  CHECK(gate.of(interactive).borrowed.tokens == 800);
  CHECK(gate.arrive("s0", {.tokens = 400}, batch) == "granted s0");
  CHECK(gate.arrive("s1", {.tokens = 400}, batch) == "granted s1");
  CHECK(gate.arrive("p3", {.tokens = 400}) == "-");
  CHECK(gate.of(batch).borrowed.tokens == 0);
}

TEST_CASE("the moment an owner queues, the next free unit is kept for it, though it is not enough yet") {
  auto rules = bare({4, 100});
  rules[interactive].floor = {2, 60};
  logged_gate gate(rules);
  for (int i = 0; i < 4; ++i)
    CHECK(gate.arrive(numbered("b", i), {.tokens = 25}, batch) == "granted " + numbered("b", i));
  CHECK(gate.arrive("i", {.tokens = 50}) == "-");
  CHECK(gate.arrive("b4", {.tokens = 25}, batch) == "-");
  CHECK(gate.finish("b0") == "-");
  CHECK(gate.explain("b4").bound == constraint::protected_slots);
  CHECK(gate.explain("b4").limit == 4);
  CHECK(gate.explain("b4").available == 0);
  CHECK(gate.explain("i").bound == constraint::pool_tokens);
  CHECK(gate.finish("b1") == "granted i");
}

TEST_CASE("only what the owner asks for is kept, not its whole floor") {
  auto rules = bare({4, 100});
  rules[interactive].floor = {3, 80};
  rules[interactive].ceiling = {unlimited, unlimited};
  logged_gate gate(rules);
  CHECK(gate.arrive("b0", {.tokens = 80}, batch) == "granted b0");
  CHECK(gate.arrive("i0", {.tokens = 21}) == "-");
  // Three slots are free; one of them is spoken for, and so are the 20 tokens that are free.
  CHECK(gate.arrive("b1", {.tokens = 0}, batch, {.may_wait = false}) == "rejected b1 (no_room)");
  CHECK(gate.last.bound == constraint::protected_tokens);
}

TEST_CASE("a floor of slots alone, in a pool without a limit on tokens, is restored like any other") {
  auto rules = bare({2, unlimited});
  rules[interactive].priority = 1;
  rules[interactive].floor = {1, 0};
  rules[interactive].restore_within = duration(10);
  rules[batch].preemptible = true;
  logged_gate gate(rules);
  for (int i = 0; i < 2; ++i)
    CHECK(gate.arrive(numbered("b", i), {.tokens = 5}, batch) == "granted " + numbered("b", i));
  for (int i = 0; i < 2; ++i) CHECK(gate.stoppable(numbered("b", i)) == "-");
  CHECK(gate.arrive("i", {.tokens = 7}) == "-");
  gate.now += duration(10);
  CHECK(gate.tick() == "preempt b1");
  CHECK(gate.finish("b1", {}, ending::preempted) == "granted i");
}

TEST_CASE("raised floors: what runs stays, and the slot that comes free goes to the floor") {
  auto rules = bare({4, unlimited});
  logged_gate gate(rules);
  for (int i = 0; i < 3; ++i) CHECK(gate.arrive(numbered("p", i), {}) == "granted " + numbered("p", i));
  rules[interactive].floor = {1, 0};
  rules[batch].floor = {2, 0};
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "-");
  CHECK(gate.of(interactive).borrowed.slots == 2);
  CHECK(gate.arrive("s0", {}, batch) == "granted s0");
  CHECK(gate.arrive("s1", {}, batch) == "-");
  CHECK(gate.explain("s1").bound == constraint::pool_slots);
  CHECK(gate.arrive("p3", {}) == "-");
  CHECK(gate.finish("p0") == "granted s1");
}

TEST_CASE("all are issued together and all are let in, in any order") {
  // Five of a class with a floor of six, and one borrower: nobody is refused while there is room.
  for (const bool borrower_first : {false, true}) {
    auto rules = bare({10, unlimited});
    rules[interactive].floor = {6, 0};
    logged_gate gate(rules);
    if (borrower_first) CHECK(gate.arrive("b", {}, batch, {.may_wait = false}) == "granted b");
    for (int i = 0; i < 5; ++i) {
      CHECK(gate.arrive(numbered("i", i), {}, interactive, {.may_wait = false}) == "granted " + numbered("i", i));
    }
    if (!borrower_first) CHECK(gate.arrive("b", {}, batch, {.may_wait = false}) == "granted b");
    CHECK(gate.all().in_flight == 6);
  }
}

TEST_CASE("interactive arrives while batch holds everything and ten thousand wait: it is served next") {
  policy rules({32, 1'000'000});
  rules[batch].elastic.enabled = false;
  rules.max_waiting = 20'000;
  logged_gate gate(rules);
  core::effects out;
  for (int i = 0; i < 32 + 10'000; ++i) {
    gate.machine.arrive({.cost = {.tokens = 10}, .workload = batch, .tag = 1'000'000}, gate.now, out);
  }
  REQUIRE(gate.all().in_flight == 32);
  REQUIRE(gate.all().waiting == 10'000);
  request_id running = out.list.front().id;
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  CHECK(gate.explain("i").ahead == 0);
  out.clear();
  CHECK(gate.machine.finish(running, ending::released, {}, gate.now, out));
  REQUIRE(out.list.size() == 1);
  CHECK(out.list[0].what == effect::kind::granted);
  CHECK(out.list[0].id == gate.id("i"));
}

TEST_CASE("batch keeps its floor whatever interactive asks for") {
  policy rules({8, 800});
  logged_gate gate(rules);
  REQUIRE(rules[batch].floor.slots == 1);
  for (int i = 0; i < 20; ++i) gate.arrive(numbered("i", i), {.tokens = 10});
  CHECK(gate.of(interactive).in_flight == 8);
  CHECK(gate.arrive("b", {.tokens = 10}, batch) == "-");
  CHECK(gate.finish("i0") == "granted b");
  // From here on interactive gets every place that comes free, and batch its one.
  for (int i = 1; i < 8; ++i) CHECK(gate.finish(numbered("i", i)) == "granted " + numbered("i", i + 7));
  CHECK(gate.arrive("b2", {.tokens = 10}, batch) == "-");
  CHECK(gate.finish("b") == "granted b2");
}

TEST_CASE("a class that begins to wait has its floor restored in the same event when it is due") {
  auto rules = bare({2, 1'000});
  rules[interactive].priority = 1;
  rules[interactive].floor = {1, 100};
  rules[interactive].restore_within = 100ms;
  rules[batch].preemptible = true;
  logged_gate gate(rules);
  CHECK(gate.open_run("run", {.limit = {.tokens = 60}}) == "-");
  for (const char* name : {"b", "c"}) {
    CHECK(gate.arrive(name, {.tokens = 10}, batch) == std::string("granted ") + name);
    CHECK(gate.stoppable(name) == "-");
  }
  CHECK(gate.arrive("x", {.tokens = 50}, interactive, {.run = "run"}) == "budget at 50 %, budget at 80 %");
  CHECK(gate.arrive("y", {.tokens = 50}, interactive, {.run = "run"}) == "-");
  // Only now does anybody wait for capacity: the one before went, and what it had set aside pays for the other.
  gate.now += 1s;
  CHECK(gate.cancel("x") == "preempt c");
}
