// What happens at the door: order of decisions, room, refusals and their numbers.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("slots and tokens are granted in one step") {
  // Reservations 1,600 and 27,000 against a pool of 28,000: the second waits while the first holds.
  logged_gate gate(bare({8, 28'000}));
  CHECK(gate.arrive("chat", {.tokens = 1'600, .output_tokens = 400}) == "granted chat");
  CHECK(gate.arrive("document", {.tokens = 27'000, .output_tokens = 3'000}) == "-");
  CHECK(gate.explain("document").bound == constraint::pool_tokens);
  CHECK(gate.explain("document").limit == 28'000);
  CHECK(gate.explain("document").available == 26'400);
  CHECK(gate.explain("document").shortfall == 600);
  CHECK(gate.finish("chat", usage{1'200, 100}) == "granted document");
  CHECK(gate.held() == 27'000);
  CHECK(gate.all().consumed_tokens_total == 1'300);
  CHECK(gate.all().refunded_tokens_total == 300);
}

TEST_CASE("a waiter waits for tokens as well as for slots, and is not refused after having waited") {
  // B 1200, two of 1100: the second waits, where a fail-fast budget would refuse it.
  logged_gate gate(bare({10, 1'200}));
  CHECK(gate.arrive("a", {.tokens = 1'100, .output_tokens = 1'000}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 1'100, .output_tokens = 1'000}) == "-");
  CHECK(gate.all().waiting == 1);
  CHECK(gate.finish("a") == "granted b");
  CHECK(gate.finish("b") == "-");
  CHECK(gate.held() == 0);
}

TEST_CASE("one that would not wait is refused with what is in the way") {
  logged_gate gate(bare({1, 100}));
  CHECK(gate.arrive("a", {.tokens = 90}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 5}, batch, {.may_wait = false}) == "rejected b (no_room)");
  CHECK(gate.last.bound == constraint::pool_slots);
  CHECK(gate.last.limit == 1);
  CHECK(gate.last.available == 0);
  CHECK(gate.last.shortfall == 1);
  CHECK(gate.last.outcome == outcome::rejected);
  CHECK(gate.last.asked == cost{.tokens = 5});
  CHECK(gate.all().queued == capacity{});
  CHECK(gate.all().rejected_total == 1);
  CHECK(gate.arrive("c", {.tokens = 11, .slots = 0}, batch, {.may_wait = false}) == "rejected c (no_room)");
  CHECK(gate.last.bound == constraint::pool_tokens);
  CHECK(gate.last.available == 10);
  CHECK(gate.last.shortfall == 1);
}

TEST_CASE("what can never fit is impossible, with the number and the bound") {
  auto rules = bare({10, 8'192});
  rules[batch].ceiling = {2, 700};
  logged_gate gate(rules);
  CHECK(gate.arrive("tokens", {.tokens = 9'942}) == "rejected tokens (impossible)");
  CHECK(gate.last.bound == constraint::pool_tokens);
  CHECK(gate.last.limit == 8'192);
  CHECK(gate.last.shortfall == 1'750);
  CHECK(gate.arrive("slots", {.slots = 11}) == "rejected slots (impossible)");
  CHECK(gate.last.bound == constraint::pool_slots);
  CHECK(gate.arrive("class tokens", {.tokens = 701}, batch) == "rejected class tokens (impossible)");
  CHECK(gate.last.bound == constraint::class_tokens);
  CHECK(gate.last.limit == 700);
  CHECK(gate.last.shortfall == 1);
  CHECK(gate.arrive("class slots", {.slots = 3}, batch) == "rejected class slots (impossible)");
  CHECK(gate.last.bound == constraint::class_slots);
  CHECK(gate.arrive("all of it", {.tokens = 8'192, .slots = 10}) == "granted all of it");
}

TEST_CASE("malformed requests are refused before all else but closing") {
  logged_gate gate(bare({4, 100}));
  CHECK(gate.arrive("a", {.tokens = -1}) == "rejected a (invalid_cost)");
  CHECK(gate.arrive("b", {.tokens = 1, .output_tokens = 2}) == "rejected b (invalid_cost)");
  CHECK(gate.arrive("c", {.tokens = 1, .output_tokens = -1}) == "rejected c (invalid_cost)");
  CHECK(gate.arrive("d", {.slots = -1}) == "rejected d (invalid_cost)");
  CHECK(gate.arrive("e", {.tokens = -1}, workload(9)) == "rejected e (unknown_class)");
  CHECK(gate.arrive("f", {.tokens = 1'000}, interactive, {.deadline = instant{}}) == "rejected f (impossible)");
  CHECK(gate.arrive("g", {.tokens = 1}, interactive, {.deadline = instant{}}) == "rejected g (deadline_passed)");
  gate.close();
  CHECK(gate.arrive("h", {.tokens = -1}, workload(9)) == "rejected h (closed)");
  CHECK(gate.held() == 0);
}

TEST_CASE("costs of zero and of the greatest number are defined") {
  logged_gate gate(bare({1, 100}));
  CHECK(gate.arrive("free", {.slots = 0}) == "granted free");
  CHECK(gate.arrive("no tokens", {}) == "granted no tokens");
  CHECK(gate.arrive("no tokens either", {}) == "-");
  CHECK(gate.arrive("huge", {.tokens = huge}) == "rejected huge (impossible)");
  CHECK(gate.arrive("huge slots", {.slots = huge}) == "rejected huge slots (impossible)");

  // Two of the greatest number wait in a pool that is paused; their sum does not wrap.
  logged_gate paused(bare({0, 0}));
  CHECK(paused.arrive("one", {.tokens = huge}) == "-");
  CHECK(paused.arrive("two", {.tokens = huge}, batch) == "-");
  CHECK(paused.all().queued.tokens == huge);
  CHECK(paused.cancel("one") == "-");
  CHECK(paused.all().queued.tokens == huge);
  CHECK(paused.cancel("two") == "-");
  CHECK(paused.all().queued.tokens == 0);
}

TEST_CASE("a capacity of zero is closed for now: without waiting everything is refused") {
  logged_gate gate(bare({0, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 0}, interactive, {.may_wait = false}) == "rejected a (no_room)");
  CHECK(gate.last.bound == constraint::pool_slots);
  CHECK(gate.arrive("b", {.tokens = 0}) == "-");
  auto open = bare({1, 1'000});
  open.revision = 2;
  CHECK(gate.reconfigure(open) == "granted b");
}

TEST_CASE("inside a class: the earliest deadline, then age") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("running", {}) == "granted running");
  CHECK(gate.arrive("none", {}) == "-");
  CHECK(gate.arrive("late", {}, interactive, {.deadline = instant{} + 9s}) == "-");
  CHECK(gate.arrive("soon", {}, interactive, {.deadline = instant{} + 3s}) == "-");
  CHECK(gate.arrive("none either", {}) == "-");
  CHECK(gate.arrive("soon too", {}, interactive, {.deadline = instant{} + 3s}) == "-");
  CHECK(gate.finish("running") == "granted soon");
  CHECK(gate.finish("soon") == "granted soon too");
  CHECK(gate.finish("soon too") == "granted late");
  CHECK(gate.finish("late") == "granted none");
  CHECK(gate.finish("none") == "granted none either");
}

TEST_CASE("classes are served by priority, ties in the order of the table") {
  auto rules = bare({1, 1'000});
  rules[batch].priority = 5;
  const workload extra = rules.add_class(class_policy("extra"));
  rules[extra].priority = 5;
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {}) == "granted running");
  CHECK(gate.arrive("i", {}) == "-");
  CHECK(gate.arrive("x", {}, extra) == "-");
  CHECK(gate.arrive("b", {}, batch) == "-");
  CHECK(gate.finish("running") == "granted b");
  CHECK(gate.finish("b") == "granted x");
  CHECK(gate.finish("x") == "granted i");
}

TEST_CASE("waiters of 8, 3 and 2 in a pool of 10: the big head goes first, and nothing is admitted over the limit") {
  logged_gate gate(bare({10, 10}));
  CHECK(gate.arrive("all", {.tokens = 10}) == "granted all");
  CHECK(gate.arrive("8", {.tokens = 8}) == "-");
  CHECK(gate.arrive("3", {.tokens = 3}) == "-");
  CHECK(gate.arrive("2", {.tokens = 2}) == "-");
  // The 2 would fit beside the 8, but may not pass the 3.
  CHECK(gate.finish("all") == "granted 8");
  CHECK(gate.finish("8") == "granted 3, granted 2");
}

TEST_CASE("a big head is not starved by small work that keeps coming") {
  // 900 of 1,000 tokens against a stream of 100s.
  logged_gate gate(bare({100, 1'000}));
  for (int i = 0; i < 10; ++i)
    CHECK(gate.arrive("s" + std::to_string(i), {.tokens = 100}) == "granted s" + std::to_string(i));
  CHECK(gate.arrive("big", {.tokens = 900}) == "-");
  for (int i = 0; i < 8; ++i) {
    const std::string newcomer = "late" + std::to_string(i);
    CHECK(gate.arrive(newcomer, {.tokens = 100}) == "-");
    CHECK(gate.finish("s" + std::to_string(i)) == "-");
  }
  CHECK(gate.finish("s8") == "granted big");
  CHECK(gate.finish("s9") == "granted late0");
}

TEST_CASE("a head that is bound by its own ceiling holds nobody else up") {
  auto rules = bare({4, 1'000});
  rules[interactive].priority = 9;
  rules[interactive].ceiling = {1, unlimited};
  logged_gate gate(rules);
  CHECK(gate.arrive("i1", {}) == "granted i1");
  CHECK(gate.arrive("i2", {}) == "-");
  CHECK(gate.explain("i2").bound == constraint::class_slots);
  CHECK(gate.arrive("b", {}, batch) == "granted b");
  CHECK(gate.finish("i1") == "granted i2");
}

TEST_CASE("a class ceiling on tokens opens when its work is reconciled") {
  // Class limit 700, two of 400: the second waits (a fail-fast gate refuses it); the first reconciled to 60 lets it in.
  auto rules = bare({2, 10'000});
  rules[interactive].ceiling = {unlimited, 700};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 400, .output_tokens = 300}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 400, .output_tokens = 300}) == "-");
  const decision waiting = gate.explain("b");
  CHECK(waiting.bound == constraint::class_tokens);
  CHECK(waiting.limit == 700);
  CHECK(waiting.available == 300);
  CHECK(waiting.shortfall == 100);
  CHECK(gate.report("a", {.input_tokens = 100, .output_tokens = 10, .remaining_output = 50, .margin = 10}) ==
        "granted b");
  CHECK(gate.of(interactive).held.tokens == 460);
  CHECK(gate.finish("a", usage{100, 10}) == "-");
  CHECK(gate.finish("b", usage{100, 20}) == "-");
  CHECK(gate.of(interactive).consumed_tokens_total == 230);
}

TEST_CASE("arrive_at_once grants or changes nothing") {
  logged_gate gate(bare({2, 100}));
  request small;
  small.cost = {.tokens = 60};
  // Without a deadline nothing has to be asked of the clock.
  const auto first = gate.machine.arrive_at_once(small, instant::min());
  REQUIRE(first);
  CHECK(gate.held() == 60);
  CHECK_FALSE(gate.machine.arrive_at_once(small, instant::min()));
  CHECK(gate.all().admitted_total == 1);
  CHECK(gate.all().rejected_total == 0);

  request dated;
  dated.deadline = instant{} + 1s;
  CHECK_FALSE(gate.machine.arrive_at_once(dated, instant{} + 1s));
  request foreign;
  foreign.workload = workload(7);
  CHECK_FALSE(gate.machine.arrive_at_once(foreign, instant::min()));
  request negative;
  negative.cost.tokens = -1;
  CHECK_FALSE(gate.machine.arrive_at_once(negative, instant::min()));

  // Not past anybody who waits, even if there would be room.
  CHECK(gate.arrive("big", {.tokens = 100}) == "-");
  CHECK_FALSE(gate.machine.arrive_at_once({.cost = {.tokens = 1}}, instant::min()));
  effects out;
  CHECK(gate.machine.finish(*first, ending::released, usage{}, instant{} + 2s, out));
  REQUIRE(out.list.size() == 1);
  CHECK(out.list[0].what == effect::kind::granted);
}

TEST_CASE("a request that came when the clock was not asked can be explained at any time") {
  logged_gate gate(bare({2, 100}));
  const auto id = gate.machine.arrive_at_once({.cost = {.tokens = 1}}, instant::min());
  REQUIRE(id);
  gate.now = instant{} + 1h;
  CHECK(gate.tick() == "-");
  const auto why = gate.machine.explain(*id);
  REQUIRE(why);
  CHECK(why->outcome == outcome::granted);
  CHECK(why->waited == 0s);
  CHECK(gate.machine.age_of(*id)->arrived == instant{});
}

TEST_CASE("a cancelled waiter is gone at once, and serves those it held up") {
  logged_gate gate(bare({4, 100}));
  CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
  CHECK(gate.arrive("big", {.tokens = 80}) == "-");
  CHECK(gate.arrive("small", {.tokens = 30}) == "-");
  CHECK(gate.cancel("big") == "granted small");
  CHECK(gate.cancel("big") == "not waiting");
  CHECK(gate.cancel("a") == "not waiting");
  CHECK(gate.all().cancelled_total == 1);
  CHECK(gate.all().rejected_total == 0);
}

TEST_CASE("a name that has ended is known no longer, though its place is used again") {
  logged_gate gate(bare({1, 100}));
  CHECK(gate.arrive("a", {}) == "granted a");
  const request_id old = gate.id("a");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK(gate.id("b").index == old.index);
  effects out;
  CHECK_FALSE(gate.machine.finish(old, ending::released, {}, gate.now, out));
  CHECK_FALSE(gate.machine.cancel(old, gate.now, out));
  CHECK_FALSE(gate.machine.report(old, {}, gate.now, out));
  CHECK_FALSE(gate.machine.explain(old));
  CHECK_FALSE(gate.machine.age_of(old));
  CHECK(out.list.empty());
  CHECK(gate.all().in_flight == 1);
  CHECK_FALSE(gate.machine.explain(request_id{999'999, 1}));
}

TEST_CASE("time does not go back") {
  logged_gate gate(bare({1, 100}));
  gate.now = instant{} + 10s;
  CHECK(gate.arrive("a", {}) == "granted a");
  gate.now = instant{} + 4s;
  CHECK(gate.arrive("late", {}, interactive, {.deadline = instant{} + 8s}) == "rejected late (deadline_passed)");
  CHECK(gate.machine.now() == instant{} + 10s);
}

TEST_CASE("reserved is consumed and refunded") {
  // Three of 500 that take 80 + 20 each, and one whose usage nobody knows.
  logged_gate gate(bare({8, 10'000}));
  for (const char* name : {"a", "b", "c"}) {
    CHECK(gate.arrive(name, {.tokens = 500, .output_tokens = 400}) == "granted " + std::string(name));
    CHECK(gate.finish(name, usage{80, 20}) == "-");
  }
  CHECK(gate.all().reserved_tokens_total == 1'500);
  CHECK(gate.all().consumed_tokens_total == 300);
  CHECK(gate.all().refunded_tokens_total == 1'200);
  CHECK(gate.all().overrun_tokens_total == 0);
}

TEST_CASE("an invalid policy cannot be put in force") {
  auto rules = bare({4, 100});
  rules.total.slots = -1;
  CHECK_THROWS_AS(admission{rules}, error_exception);
}

TEST_CASE("explain counts those who are served before") {
  auto rules = bare({1, 100});
  rules[interactive].priority = 1;
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {.tokens = 100}) == "granted running");
  CHECK(gate.arrive("b1", {}, batch) == "-");
  CHECK(gate.arrive("b2", {}, batch) == "-");
  CHECK(gate.arrive("i1", {}) == "-");
  CHECK(gate.explain("i1").ahead == 0);
  CHECK(gate.explain("b2").ahead == 2);
  gate.now += 3s;
  CHECK(gate.explain("b1").outcome == outcome::waiting);
  CHECK(gate.tick() == "-");
  CHECK(gate.explain("b1").waited == 3s);
  CHECK(gate.machine.waiting_tags().size() == 3);
}
