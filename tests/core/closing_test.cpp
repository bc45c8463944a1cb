// Closing, draining, and the end of everything.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

TEST_CASE("close refuses what waits and what comes; running work goes on") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 100}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 100}) == "-");
  CHECK_FALSE(gate.machine.closed());
  CHECK(gate.close() == "rejected b (closed)");
  CHECK(gate.machine.closed());
  CHECK(gate.machine.waiting() == 0);
  CHECK(gate.machine.in_flight() == 1);
  CHECK(gate.arrive("c", {.tokens = 100}) == "rejected c (closed)");
  CHECK_FALSE(gate.machine.arrive_at_once({}, instant::min()));
  CHECK(gate.close() == "-");
  CHECK(gate.report("a", {10, 20}) == "-");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.machine.in_flight() == 0);
  CHECK(gate.held() == 0);
  CHECK(gate.all().rejected_total == 2);
}

TEST_CASE("an idle gate is drained at once; with one in flight it is not, and nothing was cancelled") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.close() == "-");
  CHECK(gate.machine.in_flight() == 0);
  logged_gate busy(bare({1, 1'000}));
  CHECK(busy.arrive("a", {}) == "granted a");
  CHECK(busy.close() == "-");
  CHECK(busy.machine.in_flight() == 1);
  CHECK(busy.all().cancelled_total == 0);
}

TEST_CASE("closing with a wish for a tick takes it back") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}, interactive, {.deadline = instant{} + 5s}) == "-");
  CHECK(gate.wake == instant{} + 5s);
  CHECK(gate.close() == "rejected b (closed)");
  CHECK(gate.wake == never);
}

TEST_CASE("a hundred thousand waiters are refused by one close, each once") {
  auto rules = bare({1, 1'000});
  rules.max_waiting = 200'000;
  admission machine(rules);
  effects out;
  machine.arrive({}, instant{}, out);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    request made{.cost = {.tokens = static_cast<std::int64_t>(i % 1'000)}, .workload = workload(i % 3 == 0), .tag = i};
    if (i % 2 == 0) made.deadline = instant{} + std::chrono::milliseconds(1 + i % 977);
    machine.arrive(made, instant{}, out);
  }
  CHECK(machine.waiting() == 100'000);
  CHECK(machine.waiting_tags().size() == 100'000);
  out.clear();
  machine.close(instant{}, out);
  std::vector<int> answers(100'000, 0);
  for (const effect& one : out.list) {
    if (one.what == effect::kind::rejected) ++answers[one.tag];
  }
  CHECK(answers == std::vector<int>(100'000, 1));
  CHECK(machine.waiting() == 0);
  CHECK(machine.statistics().all.queued == capacity{});
}

TEST_CASE("a hundred waiters cancelled at once and a release: no ghost is admitted") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("a", {}) == "granted a");
  for (int i = 0; i < 100; ++i) CHECK(gate.arrive("w" + std::to_string(i), {}) == "-");
  // In an order that is neither that of arrival nor its reverse.
  for (int i = 0; i < 100; ++i) CHECK(gate.cancel("w" + std::to_string(i * 37 % 100)) == "-");
  CHECK(gate.finish("a") == "-");
  CHECK(gate.machine.waiting() == 0);
  CHECK(gate.machine.in_flight() == 0);
  CHECK(gate.arrive("fresh", {}) == "granted fresh");
}

TEST_CASE("a machine that was moved goes on where it was") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}) == "-");
  admission other = std::move(gate.machine);
  gate.machine = std::move(other);
  CHECK(gate.finish("a") == "granted b");
}
