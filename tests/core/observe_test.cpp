// A policy that only observes: it decides and records, and lets everything through that is well-formed.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

policy observing(capacity total) {
  policy made = bare(total);
  made.observe = true;
  return made;
}

}  // namespace

TEST_CASE("what would have waited runs at once, holds nothing, and is recorded with what was in the way") {
  logged_gate gate(observing({1, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 400}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 300, .output_tokens = 100}) == "granted b");
  CHECK(gate.all().held == capacity{1, 400});
  CHECK(gate.all().in_flight == 2);
  CHECK(gate.all().observed_total == 1);
  CHECK(gate.all().waiting == 0);
  CHECK(gate.explain("b").observed);
  CHECK_FALSE(gate.explain("a").observed);
  const auto records = gate.machine.recent();
  REQUIRE(records.size() == 1);
  CHECK(records[0].outcome == outcome::waiting);
  CHECK(records[0].bound == constraint::pool_slots);
  CHECK(records[0].asked == cost{.tokens = 300, .output_tokens = 100});
  CHECK(records[0].shortfall == 1);
  // It is not in the way of others.
  CHECK(gate.finish("a") == "-");
  CHECK(gate.arrive("c", {.tokens = 900}) == "granted c");
  CHECK(gate.all().held == capacity{1, 900});
  CHECK(gate.finish("b", usage{200, 50}) == "-");
  CHECK(gate.finish("c", usage{800, 100}) == "-");
  CHECK(gate.all().consumed_tokens_total == 1'150);
  CHECK(gate.all().reserved_tokens_total ==
        gate.all().consumed_tokens_total + gate.all().refunded_tokens_total - gate.all().overrun_tokens_total);
  CHECK(gate.all().held == capacity{});
}

TEST_CASE("what could never run, and what its run cannot pay for, run all the same") {
  logged_gate gate(observing({1, 1'000}));
  CHECK(gate.arrive("huge", {.tokens = 5'000}) == "granted huge");
  CHECK(gate.machine.recent().back().reason == reason::impossible);
  CHECK(gate.machine.recent().back().observed);
  CHECK(gate.open_run("root", {.limit = {.tokens = 100}}) == "-");
  CHECK(gate.arrive("dear", {.tokens = 500}, interactive, {.run = "root"}) == "granted dear");
  CHECK(gate.machine.recent().back().reason == reason::budget_exhausted);
  CHECK(gate.all().observed_total == 2);
  CHECK(gate.all().rejected_total == 0);
  CHECK(gate.all().held == capacity{});
}

TEST_CASE("what is malformed, too late, of no open run, or comes after closing is refused as ever") {
  logged_gate gate(observing({1, 1'000}));
  CHECK(gate.arrive("a", {.tokens = -1}) == "rejected a (invalid_cost)");
  CHECK(gate.arrive("b", {}, workload(9)) == "rejected b (unknown_class)");
  CHECK(gate.arrive("c", {}, interactive, {.deadline = instant{}}) == "rejected c (deadline_passed)");
  CHECK(gate.open_run("root", {}) == "-");
  CHECK(gate.close_run("root") == "-");
  CHECK(gate.arrive("d", {}, interactive, {.run = "root"}) == "rejected d (unknown_run)");
  CHECK(gate.close() == "-");
  CHECK(gate.arrive("e", {}) == "rejected e (closed)");
  CHECK(gate.all().observed_total == 0);
}

TEST_CASE("reports about observed work change no hold, whatever they say") {
  logged_gate gate(observing({1, 1'000}));
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 100, .output_tokens = 50}) == "granted b");
  CHECK(gate.report("b", {10, 500, 40}) == "-");
  CHECK(gate.held() == 0);
  CHECK(gate.finish("b", usage{10, 500}) == "-");
  CHECK(gate.all().consumed_tokens_total == 510);
}

TEST_CASE("a gate that begins to observe lets go who waits; one that ceases to holds new work to the policy") {
  auto rules = bare({1, 1'000});
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 400}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 300}) == "-");
  rules.observe = true;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "granted b");
  CHECK(gate.held() == 400);
  rules.observe = false;
  rules.revision = 3;
  CHECK(gate.reconfigure(rules) == "-");
  CHECK(gate.arrive("c", {.tokens = 300}) == "-");
  CHECK(gate.finish("b") == "-");
  CHECK(gate.finish("a") == "granted c");
}

TEST_CASE("reports of observed work are held to credible numbers too") {
  auto rules = bare({1, 100});
  rules.observe = true;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 50}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 50}) == "granted b");
  effects out;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_FALSE(gate.machine.report(gate.id("b"), {most, most}, gate.now, out));
  CHECK(gate.machine.report(gate.id("b"), {10, 5}, gate.now, out));
  CHECK(gate.finish("b") == "-");
  CHECK(gate.all().consumed_tokens_total == 15);
}
