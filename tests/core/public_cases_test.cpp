// Inputs that broke other clients, limiters and schedulers, by the names of their groups. Those whose log stands in
// another test are named there:
//   queue 1        deadlines_test: "a release at the very instant of the deadline"
//   queue 2        a race between threads: the bulkhead's
//   queue 3        bypass_test: "a big head is passed so often and no more"
//   queue 4, 6     admission_test: "waiters of 8, 3 and 2", "costs of zero and of the greatest number", "what can never
//   fit" queue 5        reconfiguration_test: "lowered below what is held" queue 7, 9, 13 permits, callbacks and
//   coroutines: the bulkhead's; a grant that ends once: closing_test queue 8        closing_test: "a hundred thousand
//   waiters are refused by one close" queue 10       floors_test: "interactive arrives while batch holds everything"
//   queue 12       who waits for whom is known where runs are driven, not here; what a child may spend: runs_test
//   queue 14       preemption_test: "preempted work comes back to its old place"
//   retry-budget   attempts are the client's; each is one more request here
//   tokens 1, 4    adaptive_limit_behaviour_test: "everything times out", "outputs of 10 or 3,000 tokens"
//   tokens 5       policy_check_test: "a floor, a ceiling and a pool fund the largest request"
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

std::string numbered(const char* name, int number) { return name + std::to_string(number); }

}  // namespace

namespace {

/// An hour of interactive work at full demand beside batch work at full demand, each piece a second long on one of
/// eight slots.
struct busy_hour {
  explicit busy_hour(const policy& rules) : machine(rules) { run(); }
  void run();

  admission machine;
  /// The fewest pieces of batch work that ran at once, after the first two seconds.
  std::int64_t least = 100;
};

void busy_hour::run() {
  effects out;
  struct running {
    instant until;
    request_id id;
    workload which;
  };
  std::deque<running> in_flight;
  instant now{};
  const auto note_grants = [&] {
    for (const effect& one : out.list) {
      if (one.what == effect::kind::granted) {
        in_flight.push_back({now + 1s, one.id, workload(static_cast<std::uint8_t>(one.tag))});
      }
    }
  };
  const auto arrive = [&](workload which) {
    out.clear();
    machine.arrive({.cost = {.tokens = 1'000}, .workload = which, .tag = which.index()}, now, out);
    note_grants();
  };
  for (int i = 0; i < 12; ++i) arrive(interactive);
  for (int i = 0; i < 4; ++i) arrive(batch);
  // Each that ends is followed by another of its kind: 12 and 4 always want in.
  while (now < instant{} + 1h) {
    REQUIRE_FALSE(in_flight.empty());
    const running next = in_flight.front();
    in_flight.pop_front();
    now = next.until;
    out.clear();
    REQUIRE(machine.finish(next.id, ending::released, {}, now, out));
    note_grants();
    arrive(next.which);
    if (now > instant{} + 2s) least = std::min(least, machine.statistics()[batch].in_flight);
  }
}

}  // namespace

TEST_CASE("queue 11: with interactive at full demand for an hour, batch has its floor all the time") {
  policy rules({8, 8'000});
  REQUIRE(rules[batch].floor == capacity{1, 1'000});
  rules[batch].elastic.enabled = false;
  const busy_hour fixed(rules);
  CHECK(fixed.least == 1);
  CHECK(fixed.machine.statistics()[batch].admitted_total >= 3'598);
  CHECK(fixed.machine.statistics()[interactive].admitted_total >= 7 * 3'598);

  // A class that makes room elastically may be kept out for its pause, once, and never starves.
  rules[batch].elastic = {.enabled = true, .pause = 60s};
  const busy_hour elastic(rules);
  CHECK(elastic.machine.statistics()[batch].admitted_total >= 3'598 - 61);
}

TEST_CASE("rate 1: sixty a minute and one at once is one each second, without drift; at first there is one, not two") {
  auto rules = bare({100, 100'000});
  rules.rates.requests = {60, 1};
  logged_gate gate(rules);
  CHECK(gate.arrive("first", {}) == "granted first");
  CHECK(gate.arrive("second", {}, interactive, {.may_wait = false}) == "rejected second (rate_limited)");
  CHECK(gate.arrive("w0", {}) == "-");
  for (int i = 0; i < 1'000; ++i) {
    const instant due = instant{} + std::chrono::seconds(i + 1);
    CHECK(gate.wake == due);
    gate.now = due - 1ns;
    CHECK(gate.arrive(numbered("w", i + 1), {}) == "-");
    gate.now = due;
    CHECK(gate.tick() == "granted " + numbered("w", i));
    CHECK(gate.finish(numbered("w", i)) == "-");
  }
}

TEST_CASE("rate 2: a request that its tokens keep out has not used up a request") {
  auto rules = bare({100, 100'000});
  rules.rates = {.requests = {60, 2}, .input_tokens = {6'000, 100}};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 80}) == "granted a");
  for (int i = 0; i < 5; ++i) {
    CHECK(gate.arrive(numbered("b", i), {.tokens = 30}, interactive, {.may_wait = false}) ==
          "rejected " + numbered("b", i) + " (rate_limited)");
    CHECK(gate.last.bound == constraint::provider_input);
    CHECK(gate.last.limit == 100);
    CHECK(gate.last.available == 20);
    CHECK(gate.last.shortfall == 10);
    // A hundred tokens a second: ten more are there after a tenth.
    CHECK(gate.last.could_start == instant{} + 100ms);
  }
  CHECK(gate.arrive("c", {.tokens = 20}) == "granted c");
  CHECK(gate.arrive("d", {.tokens = 0}, interactive, {.may_wait = false}) == "rejected d (rate_limited)");
  CHECK(gate.last.bound == constraint::provider_requests);
}

TEST_CASE("rate 3: a hundred tokens a minute and forty that ask for ten: ten pass") {
  auto rules = bare({100, 100'000});
  rules.rates.input_tokens = {100, 0};
  logged_gate gate(rules);
  int passed = 0;
  for (int i = 0; i < 40; ++i) {
    passed += gate.arrive(numbered("r", i), {.tokens = 10}, interactive, {.may_wait = false}) ==
              "granted " + numbered("r", i);
  }
  CHECK(passed == 10);
  // One more each six seconds.
  gate.now = instant{} + 6s - 1ns;
  CHECK(gate.arrive("early", {.tokens = 10}, interactive, {.may_wait = false}) == "rejected early (rate_limited)");
  gate.now = instant{} + 6s;
  CHECK(gate.arrive("due", {.tokens = 10}, interactive, {.may_wait = false}) == "granted due");
}

TEST_CASE("rate 4: what is refused here is charged to no rate") {
  auto rules = bare({1, 100'000});
  rules.rates.requests = {60, 2};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {}) == "granted a");
  for (int i = 0; i < 10; ++i) {
    CHECK(gate.arrive(numbered("again", i), {}, interactive, {.may_wait = false}) ==
          "rejected " + numbered("again", i) + " (no_room)");
  }
  CHECK(gate.finish("a") == "-");
  CHECK(gate.arrive("b", {}) == "granted b");
}

TEST_CASE("rate 5: more than the burst is impossible, with the burst") {
  auto rules = bare({100, 100'000});
  rules.rates.output_tokens = {600, 50};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 60, .output_tokens = 51}) == "rejected a (impossible)");
  CHECK(gate.last.bound == constraint::provider_output);
  CHECK(gate.last.limit == 50);
  CHECK(gate.arrive("b", {.tokens = 60, .output_tokens = 50}) == "granted b");
}

TEST_CASE("rate 6: a month without a request gives one burst, not a month's") {
  auto rules = bare({100, 100'000});
  rules.rates.requests = {60, 3};
  logged_gate gate(rules);
  gate.now += std::chrono::hours(24 * 30);
  for (int i = 0; i < 3; ++i) CHECK(gate.arrive(numbered("r", i), {}) == "granted " + numbered("r", i));
  CHECK(gate.arrive("r3", {}, interactive, {.may_wait = false}) == "rejected r3 (rate_limited)");
}

TEST_CASE("tokens 2 and 3: fast failures are no samples, and what its caller stopped is no drop") {
  auto rules = bare({8, 100'000});
  rules.adaptive = {.enabled = true, .initial = 4, .tolerance = 1.5};
  logged_gate gate(rules);
  const auto wave = [&](ending how, duration taken) {
    for (int i = 0; i < 4; ++i)
      REQUIRE(gate.arrive(numbered("w", i), {.tokens = 200, .output_tokens = 100}) == "granted " + numbered("w", i));
    gate.now += taken / 2;
    for (int i = 0; i < 4; ++i) gate.report(numbered("w", i), {100, 1});
    gate.now += taken / 2;
    for (int i = 0; i < 4; ++i) gate.finish(numbered("w", i), usage{100, 50}, how);
  };
  for (int n = 0; n < 10; ++n) wave(ending::abandoned, 2ms);
  CHECK(gate.machine.statistics().adaptive_limit == 4);
  // A baseline of two milliseconds would call these five hundred times too slow.
  for (int n = 0; n < 10; ++n) wave(ending::released, 1s);
  CHECK(gate.machine.statistics().adaptive_limit == 4);
  CHECK(gate.machine.statistics().adaptive_reason == limit_change::none);
}
