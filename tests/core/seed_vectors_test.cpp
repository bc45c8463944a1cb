// The conformance vectors of async-bulkhead-llm, by their numbers. B: tokens, C: slots, E(i,o): a reservation of i
// input and o output tokens. Where it refuses at once and this waits, the vector is run with a request that would not
// wait, or the wait is part of the log. Those whose whole log stands in another test are named there:
//   2, 3, 4, 5, 6       reconciliation_test: "an overrun expands the hold", "reports that go down", "what was reported
//   last
//                       counts", "the final usage wins", "a report after the end"
//   9                   reconfiguration_test: "while the pool is too small for it"
//   11, 12, 13, 14, 15  reconciliation_test: "freed tokens go to a waiter", "the margin is kept", "a remainder above
//   the
//                       reserved output", "a sequence of reports"; events are the bulkhead's
//   16, 17, 18          floors_test: "the last slot is lent", "floors in tokens", "raised floors"
//   19                  admission_test: "a class ceiling on tokens opens"
//   20 - 26             reconfiguration_test: "a class whose ceiling becomes zero", "a waiter is judged by the revision
//   in
//                       force", "a stale revision", "an invalid policy", "shrunk from two slots", "grown by one slot"
//   27                  is the client's: the core is told a cost, and estimates none
//   29, 30              closing_test: "an idle gate is drained", "a hundred waiters cancelled"; their races are the
//                       runtime's
// And of what it lacks: P1, P3, P6, P9, P13, P16 admission_test; P5 floors_test; P8 floors_test and preemption_test;
// P12 closing_test; L17 preemption_test; L18 runs_test. P4, P15 and L15 are the bulkhead's.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

TEST_CASE("vector 1: B 1200, E(100,1000) twice; a report of 20 and 5") {
  logged_gate gate(bare({10, 1'200}));
  CHECK(gate.arrive("a", {.tokens = 1'100, .output_tokens = 1'000}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 1'100, .output_tokens = 1'000}, interactive, {.may_wait = false}) ==
        "rejected b (no_room)");
  CHECK(gate.last.bound == constraint::pool_tokens);
  CHECK(gate.arrive("c", {.tokens = 1'100, .output_tokens = 1'000}) == "-");
  CHECK(gate.report("a", {20, 5}) == "-");
  CHECK(gate.held() == 1'020);
  CHECK(gate.explain("c").available == 180);
  // Theirs counts the 80 that came back as refunded now, and again at the end; here a refund is counted once, at the
  // end.
  CHECK(gate.all().refunded_tokens_total == 0);
  CHECK(gate.finish("a", usage{20, 5}) == "granted c");
  CHECK(gate.all().refunded_tokens_total == 1'075);
}

TEST_CASE("vectors 7 and 8: B 2400, 400 of it for high priority alone") {
  // A strict reserve is a ceiling for the others. (A floor would be lent while nobody of high priority asks.)
  auto rules = bare({10, 2'400});
  rules[interactive].priority = 1;
  rules[batch].ceiling = {unlimited, 2'000};
  logged_gate gate(rules);
  const cost asked{.tokens = 1'100, .output_tokens = 1'000};
  CHECK(gate.arrive("a", asked, batch) == "granted a");
  CHECK(gate.arrive("b", asked, batch, {.may_wait = false}) == "rejected b (no_room)");
  CHECK(gate.last.limit == 2'000);
  CHECK(gate.last.available == 900);
  CHECK(gate.last.asked.tokens == 1'100);
  CHECK(gate.last.shortfall == 200);
  CHECK(gate.arrive("c", asked) == "granted c");
  CHECK(gate.held() == 2'200);

  auto lending = bare({10, 2'400});
  lending[interactive].priority = 1;
  lending[interactive].floor = {1, 1'100};
  logged_gate lent(lending);
  CHECK(lent.arrive("a", asked, batch) == "granted a");
  CHECK(lent.arrive("b", asked, batch) == "granted b");
  CHECK(lent.arrive("c", asked) == "-");
  CHECK(lent.arrive("d", asked, batch) == "-");
  CHECK(lent.finish("a") == "granted c");
}

TEST_CASE("vector 10: the budget falls below the reserve") {
  auto rules = bare({10, 2'400});
  rules[batch].ceiling = {unlimited, 2'000};
  logged_gate gate(rules);
  // As a floor the reserve could not be kept, and is refused as such.
  auto floor = bare({10, 200});
  floor[interactive].floor = {1, 400};
  floor.revision = 2;
  CHECK(gate.reconfigure(floor).find("classes.interactive.floor.tokens: 400 is above the pool's 200") !=
        std::string::npos);
  auto next = bare({10, 200});
  next[batch].ceiling = {unlimited, 0};
  next.revision = 2;
  CHECK(gate.reconfigure(next) == "-");
  CHECK(gate.arrive("normal", {.tokens = 100}, batch) == "rejected normal (impossible)");
  CHECK(gate.last.limit == 0);
  CHECK(gate.last.available == 0);
  CHECK(gate.arrive("high", {.tokens = 100}) == "granted high");
}

TEST_CASE("vector 28: 500 reserved as 100 and 400, 100 and 50 used") {
  logged_gate gate(bare({8, 10'000}));
  CHECK(gate.arrive("a", {.tokens = 500, .output_tokens = 400}) == "granted a");
  CHECK(gate.finish("a", usage{100, 50}) == "-");
  CHECK(gate.all().refunded_tokens_total == 350);
}

TEST_CASE("vectors P2 and P7: who loses the last place keeps its own in the queue, and is not refused after waiting") {
  // Three wait for one slot and the tokens of one; each end lets in exactly one, in their order.
  auto rules = bare({1, 1'000});
  rules[interactive].ceiling = {1, 1'000};
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {.tokens = 600}) == "granted running");
  for (const char* name : {"1", "2", "3"}) CHECK(gate.arrive(name, {.tokens = 600}) == "-");
  CHECK(gate.finish("running") == "granted 1");
  CHECK(gate.finish("1") == "granted 2");
  CHECK(gate.finish("2") == "granted 3");
  CHECK(gate.all().rejected_total == 0);
  CHECK(gate.all().admitted_after_wait_total == 3);
}

TEST_CASE("vector P17: work that is stopped gives back its tokens with its slot, when it has stopped and not before") {
  policy rules = bare({2, 400});
  rules[interactive].priority = 1;
  rules[interactive].floor = {1, 400};
  rules[interactive].restore_within = 20ms;
  rules[batch].preemptible = true;
  logged_gate gate(rules);
  CHECK(gate.arrive("bg", {.tokens = 400, .output_tokens = 350}, batch) == "granted bg");
  CHECK(gate.stoppable("bg") == "-");
  CHECK(gate.arrive("chat", {.tokens = 400}) == "-");
  gate.now += 20ms;
  CHECK(gate.tick() == "preempt bg");
  CHECK(gate.held() == 400);
  CHECK(gate.finish("bg", usage{50, 10}, ending::preempted) == "granted chat");
  CHECK(gate.held() == 400);
  CHECK(gate.of(batch).wasted_tokens_total == 60);
}

TEST_CASE("vectors P10, P11 and P18: reserved = consumed + refunded - overrun, however work goes on and ends") {
  std::mt19937_64 draw(11);
  const auto upto = [&draw](std::int64_t most) {
    return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most + 1));
  };
  for (const bool observe : {false, true}) {
    auto rules = bare({8, 4'000});
    rules.observe = observe;
    logged_gate gate(rules);
    std::vector<std::string> running;
    for (int i = 0; i < 2'000; ++i) {
      const std::string name = "r" + std::to_string(i);
      const std::int64_t output = upto(400);
      if (gate.arrive(name, {.tokens = output + upto(800), .output_tokens = output}, workload(i % 2 == 0 ? 0 : 1),
                      {.may_wait = false}) == "granted " + name) {
        running.push_back(name);
      }
      while (running.size() > 5 || (!running.empty() && upto(2) == 0)) {
        const std::string one = running[static_cast<std::size_t>(upto(static_cast<std::int64_t>(running.size()) - 1))];
        gate.report(one, {upto(500), upto(900), upto(1) == 0 ? -1 : upto(300), upto(200)});
        if (upto(1) == 0) continue;
        const std::optional<usage> used = upto(2) == 0 ? std::nullopt : std::optional(usage{upto(600), upto(900)});
        gate.finish(one, used, static_cast<ending>(upto(2)));
        std::erase(running, one);
      }
    }
    for (const std::string& one : running) gate.finish(one);
    const class_statistics all = gate.all();
    CHECK(all.consumed_tokens_total > 100'000);
    CHECK(all.overrun_tokens_total > 10'000);
    CHECK(all.refunded_tokens_total > (observe ? 1'000 : 10'000));
    CHECK(all.reserved_tokens_total ==
          all.consumed_tokens_total + all.refunded_tokens_total - all.overrun_tokens_total);
    CHECK(all.held == capacity{});
  }
}

TEST_CASE("vector L14: a million waiters that come and are cancelled leave nothing behind") {
  admission machine(bare({1, 1'000}));
  effects out;
  machine.arrive({}, instant{}, out);
  std::uint32_t highest = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    out.clear();
    const request_id id = machine.arrive({.cost = {.tokens = 10}}, instant{}, out);
    highest = std::max(highest, id.index);
    REQUIRE(machine.cancel(id, instant{}, out));
  }
  CHECK(highest < 2);
  CHECK(machine.waiting() == 0);
  CHECK(machine.statistics().all.cancelled_total == 1'000'000);
}
