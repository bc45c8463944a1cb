#include <sluice/sim/random.hpp>
#include <sluice/sim/simulation.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>

using namespace std::chrono_literals;
using namespace sluice;
using sluice::sim::job;
using sluice::sim::simulation;

namespace {

policy bare(capacity total) {
  policy made(total);
  for (auto& each : made.classes) each.floor = {};
  return made;
}

/// Chats and documents for `length`, about as much as the gate can carry, from one seed.
simulation mixed(std::uint64_t seed, duration length, const policy& rules) {
  simulation trial(rules);
  trial.keep_log(true);
  sim::random draw(seed);
  for (instant when{}; when < instant{} + length; when += draw.exponential(150ms)) {
    const std::int64_t output = draw.between(50, 400);
    trial.arrive(when, {.workload = interactive,
                        .cost = {.tokens = 1'200 + output, .output_tokens = output},
                        .service = draw.exponential(2s),
                        .start_within = 5s,
                        .used = {1'000, output / 2}});
  }
  for (instant when{}; when < instant{} + length; when += draw.exponential(2s)) {
    trial.arrive(when, {.workload = batch,
                        .cost = {.tokens = 27'000, .output_tokens = 3'000},
                        .service = draw.exponential(30s),
                        .stop_delay = 50ms});
  }
  trial.run();
  return trial;
}

}  // namespace

TEST_CASE("a small run, line by line") {
  simulation trial(bare({1, 100}));
  trial.keep_log(true);
  trial.arrive(instant{}, {.service = 2s});
  trial.arrive(instant{} + 500ms, {.workload = batch, .service = 1s});
  trial.arrive(instant{} + 1s, {.service = 1s});
  trial.arrive(instant{} + 1s, {.service = 1s, .start_within = 500ms});
  trial.arrive(instant{} + 1s, {.service = 1s, .leave_after = 200ms});
  trial.arrive(instant{} + 1s, {.service = 1s, .may_wait = false});
  trial.arrive(instant{} + 1s, {.workload = workload(9)});
  trial.run();
  CHECK(trial.log() ==
        "0.000000000 arrived interactive #0\n"
        "0.000000000 granted interactive #0 after 0.000000000\n"
        "0.500000000 arrived batch #1\n"
        "1.000000000 arrived interactive #2\n"
        "1.000000000 arrived interactive #3\n"
        "1.000000000 arrived interactive #4\n"
        "1.000000000 arrived interactive #5\n"
        "1.000000000 refused interactive #5: no_room\n"
        "1.000000000 arrived #9 #6\n"
        "1.000000000 refused #9 #6: unknown_class\n"
        "1.200000000 left interactive #4\n"
        "1.500000000 refused interactive #3: deadline_in_queue\n"
        "2.000000000 completed interactive #0\n"
        "2.000000000 granted interactive #2 after 1.000000000\n"
        "3.000000000 completed interactive #2\n"
        "3.000000000 granted batch #1 after 2.500000000\n"
        "4.000000000 completed batch #1\n");
  const auto& chats = trial.result(interactive);
  CHECK(chats.arrived == 5);
  CHECK(chats.completed == 2);
  CHECK(chats.refused == 2);
  CHECK(chats.refused_for(reason::no_room) == 1);
  CHECK(chats.refused_for(reason::deadline_in_queue) == 1);
  CHECK(chats.left == 1);
  CHECK(chats.success() == doctest::Approx(0.4));
  CHECK(trial.broken_invariant() == "");
}

TEST_CASE("preempted work is stopped, comes again with its age, and completes") {
  policy rules = bare({1, 100});
  rules[interactive].floor = {1, 100};
  simulation trial(rules);
  trial.keep_log(true);
  trial.arrive(instant{}, {.workload = batch, .service = 60s, .stop_delay = 100ms, .used = {5, 0}});
  trial.arrive(instant{} + 1s, {.workload = batch, .service = 1s, .used = {5, 0}});
  trial.arrive(instant{} + 1s, {.service = 3s});
  trial.run();
  CHECK(trial.log() ==
        "0.000000000 arrived batch #0\n"
        "0.000000000 granted batch #0 after 0.000000000\n"
        "1.000000000 arrived batch #1\n"
        "1.000000000 arrived interactive #2\n"
        "3.000000000 preempt batch #0\n"
        "3.100000000 stopped batch #0\n"
        "3.100000000 granted interactive #2 after 2.100000000\n"
        "6.100000000 completed interactive #2\n"
        "6.100000000 granted batch #0 after 6.100000000\n"
        "66.100000000 completed batch #0\n"
        "66.100000000 granted batch #1 after 65.100000000\n"
        "67.100000000 completed batch #1\n");
  CHECK(trial.result(batch).preempted == 1);
  CHECK(trial.result(batch).completed == 2);
  CHECK(trial.accounts()[batch].preempted_total == 1);
}

TEST_CASE("work that cannot be stopped is not, and one that ends while it is being stopped has completed") {
  policy rules = bare({1, 100});
  rules[interactive].floor = {1, 100};
  simulation stubborn(rules);
  stubborn.arrive(instant{}, {.workload = batch, .service = 60s, .stoppable = false});
  stubborn.arrive(instant{} + 1s, {.service = 3s});
  stubborn.run();
  CHECK(stubborn.result(batch).preempted == 0);
  CHECK(stubborn.result(interactive).wait_percentile(1) == 59s);

  simulation slow(rules);
  slow.arrive(instant{}, {.workload = batch, .service = 4s, .stop_delay = 10s});
  slow.arrive(instant{} + 1s, {.service = 3s});
  slow.run();
  CHECK(slow.result(batch).preempted == 0);
  CHECK(slow.result(batch).completed == 1);
  CHECK(slow.result(interactive).wait_percentile(1) == 3s);
}

TEST_CASE("a new policy and closing happen at their instants") {
  simulation trial(bare({1, 100}));
  for (int i = 0; i < 4; ++i) trial.arrive(instant{}, {.service = 10s});
  policy wider = bare({3, 100});
  wider.revision = 2;
  trial.reconfigure(instant{} + 2s, wider);
  trial.close(instant{} + 5s);
  trial.arrive(instant{} + 6s, {});
  trial.run();
  const auto& result = trial.result(interactive);
  CHECK(result.completed == 3);
  CHECK(result.refused_for(reason::closed) == 2);
  CHECK(result.wait_percentile(1) == 2s);

  simulation stale(bare({1, 100}));
  stale.reconfigure(instant{} + 1s, bare({2, 100}));
  CHECK_THROWS_AS(stale.run(), error_exception);
}

TEST_CASE("run_until stops in the middle") {
  simulation trial(bare({1, 100}));
  trial.arrive(instant{}, {.service = 10s});
  trial.arrive(instant{} + 1s, {.service = 10s});
  trial.run_until(instant{} + 5s);
  CHECK(trial.time().now() == instant{} + 5s);
  CHECK(trial.accounts().all.in_flight == 1);
  CHECK(trial.accounts().all.waiting == 1);
  bool seen = false;
  trial.time().in(1s, [&] { seen = true; });
  trial.run();
  CHECK(seen);
  CHECK(trial.result(interactive).completed == 2);
}

TEST_CASE("the same seed gives the same log byte for byte; another seed another one") {
  const policy rules({32, 200'000});
  const simulation one = mixed(42, 2min, rules);
  const simulation two = mixed(42, 2min, rules);
  const simulation other = mixed(43, 2min, rules);
  CHECK(one.log().size() > 50'000);
  CHECK(one.log() == two.log());
  CHECK(one.log() != other.log());
}

TEST_CASE("an hour of mixed traffic: accounts close, and interactive is served within its restoration bound") {
  policy rules({32, 200'000});
  simulation trial = mixed(7, 1h, rules);
  CHECK(trial.broken_invariant() == "");
  for (const workload which : {interactive, batch}) {
    const auto& result = trial.result(which);
    CAPTURE(result.arrived);
    CHECK(result.arrived > 1'000);
    CHECK(result.arrived == result.completed + result.refused + result.left);
  }
  const auto all = trial.accounts().all;
  CHECK(all.held == capacity{});
  CHECK(all.in_flight == 0);
  CHECK(all.waiting == 0);
  CHECK(all.reserved_tokens_total == all.consumed_tokens_total + all.refunded_tokens_total - all.overrun_tokens_total);
  CHECK(trial.result(interactive).success() > 0.99);
  CHECK(trial.result(interactive).wait_percentile(0.95) <= 2100ms);
  CHECK(trial.result(batch).preempted > 0);
  CHECK(trial.result(batch).completed > 500);
}

TEST_CASE("with interactive at full demand for an hour, batch still gets its floor") {
  policy rules({8, 800});
  REQUIRE(rules[batch].floor.slots == 1);
  simulation trial(rules);
  // Twelve slots' worth of interactive work for eight slots.
  for (instant when{}; when < instant{} + 1h; when += 250ms) {
    trial.arrive(when, {.workload = interactive, .cost = {.tokens = 10}, .service = 3s, .start_within = 10s});
  }
  for (int i = 0; i < 2'000; ++i) trial.arrive(instant{}, {.workload = batch, .cost = {.tokens = 10}, .service = 10s});
  trial.run_until(instant{} + 1h);
  // One slot for an hour is 360 jobs of ten seconds; the first has to wait for a place.
  CHECK(trial.result(batch).completed >= 355);
  CHECK(trial.accounts()[batch].waiting > 1'000);
  CHECK(trial.broken_invariant() == "");
}
