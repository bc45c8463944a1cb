#include "core/busy_machine.hpp"
#include "sim/recorded_simulation.hpp"

#include <sluice/sim/comparison.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>

using namespace sluice;
using namespace std::chrono_literals;
using sim::fate;
using sim::testing::add_traffic;
using sim::testing::recorded_simulation;
using sim::testing::two_slots;

namespace {

constexpr sim::comparison_options exact{.tolerance = 0ns, .most_listed = 1'000};

/// Two batch jobs of 10 s take both slots at once. A third comes at 0.5 s, and a short urgent one at 1 s.
std::string borrowed_slots(const policy& rules) {
  recorded_simulation run(rules);
  const sim::job chore{.workload = batch, .cost = {1'000, 400, 1}, .service = 10s};
  run.trial.arrive(instant{}, chore);
  run.trial.arrive(instant{}, chore);
  run.trial.arrive(instant{} + 500ms, chore);
  run.trial.arrive(instant{} + 1s, {.workload = interactive, .cost = {500, 100, 1}, .service = 1s});
  return run.run();
}

}  // namespace

TEST_CASE("with a floor the urgent class would have waited less, and batch paid for it") {
  const std::string log = borrowed_slots(two_slots(0));
  const auto found = sim::compare(log, two_slots(1));
  REQUIRE_MESSAGE(found, found.error().message());

  // Then: until 10 s, when both slots came free. Now: a floor's worth is restored after 0.5 s.
  const sim::class_comparison& urgent = found->classes.at(0);
  CHECK(urgent.name == "interactive");
  CHECK(urgent.then.requests == 1);
  CHECK(urgent.then.waited == 1);
  CHECK(urgent.then.wait_p50 == 9s);
  CHECK(urgent.now.wait_p50 == 500ms);
  CHECK(urgent.now.wait_p95 == 500ms);
  CHECK(urgent.sooner == 1);
  CHECK(urgent.later == 0);
  CHECK(urgent.median_sooner == 8'500ms);
  CHECK(urgent.estimated == 0);

  // One that had run for 1.5 s of 10 is stopped: 600 tokens of input and 15 % of 400 are lost. It starts again at 2.5
  // s, when the urgent one has ended; the third still gets the slot of the other at 10 s.
  const sim::class_comparison& chores = found->classes.at(1);
  CHECK(chores.then.requests == 3);
  CHECK(chores.then.preemptions == 0);
  CHECK(chores.now.preemptions == 1);
  CHECK(chores.now.wasted_tokens == 660);
  CHECK(chores.sooner == 0);
  CHECK(chores.later == 1);
  CHECK(chores.median_later == 2'500ms);
  CHECK(chores.then.wait_longest == 9'500ms);
  CHECK(chores.now.wait_longest == 9'500ms);

  CHECK(found->all.now.requests == 4);
  CHECK(found->all.now.preemptions == 1);
  CHECK(found->changed_total == 2);
  REQUIRE(found->changed.size() == 2);
  CHECK(found->changed[1].number == 3);
  CHECK(found->changed[1].workload == interactive);
  CHECK(found->changed[1].arrived == instant{} + 1s);
  CHECK(found->changed[1].then.waited == 9s);
  CHECK(found->changed[1].now.waited == 500ms);
  CHECK(
      found->explain() ==
      "interactive: of 1 request, 1 as before would have been let in, after a wait of 0.5 s instead of 9 s in the "
      "median and "
      "0.5 s instead of 9 s at p95; 1 sooner, by 8.5 s in the median\n"
      "batch: of 3 requests, 3 as before would have been let in, after a wait of 2.5 s instead of 0 s in the median "
      "and 9.5 s "
      "as before at p95; 1 later, by 2.5 s in the median; 1 instead of 0 preempted, 660 instead of 0 tokens wasted\n");
}

TEST_CASE("without the floor the urgent class would have waited more: the same in reverse") {
  const std::string log = borrowed_slots(two_slots(1));
  const auto found = sim::compare(log, two_slots(0));
  REQUIRE(found);
  CHECK(found->classes[0].then.wait_p50 == 500ms);
  CHECK(found->classes[0].now.wait_p50 == 9s);
  CHECK(found->classes[0].median_later == 8'500ms);
  CHECK(found->classes[1].then.preemptions == 1);
  CHECK(found->classes[1].now.preemptions == 0);
  CHECK(found->classes[1].now.wasted_tokens == 0);
}

TEST_CASE("refused work that would be let in runs as long as its class does, and that is said") {
  policy rules({1, 10'000});
  recorded_simulation run(rules);
  for (const duration each : {1s, 3s, 5s}) {
    run.trial.arrive(instant{} + 10 * each, {.cost = {100, 50, 1}, .service = each});
  }
  // At 31 s the one of 30 s is running: no room.
  run.trial.arrive(instant{} + 31s, {.cost = {100, 50, 1}, .service = 1s, .may_wait = false});
  // And one at the end, so that the log goes on.
  run.trial.arrive(instant{} + 80s, {.cost = {100, 50, 1}, .service = 2s});
  const std::string log = run.run();

  const auto found = sim::compare(log, policy({2, 10'000}), exact);
  REQUIRE(found);
  CHECK(found->all.then.refused == 1);
  CHECK(found->all.then.refused_for[static_cast<std::size_t>(reason::no_room)] == 1);
  CHECK(found->all.now.refused == 0);
  CHECK(found->all.gained == 1);
  CHECK(found->all.lost == 0);
  CHECK(found->all.estimated == 1);
  REQUIRE(found->changed.size() == 1);
  CHECK(found->changed[0].then.what == fate::kind::refused);
  CHECK(found->changed[0].now.what == fate::kind::ended);
  CHECK(found->classes[0].explain() ==
        "interactive: of 5 requests, 5 instead of 4 would have been let in, after a wait of 0 s as before in the "
        "median and 0 s "
        "as before at p95; 0 instead of 1 refused (no_room 0 instead of 1); how long 1 of them would have run is an "
        "estimate");

  // Its estimated 3 s are the median of 1, 2, 3 and 5 s (the upper middle): one that comes 2.9 s after it finds it
  // there.
  recorded_simulation other(policy({1, 10'000}));
  other.trial.arrive(instant{}, {.cost = {100, 50, 1}, .service = 3s});
  other.trial.arrive(instant{} + 1s, {.cost = {100, 50, 1}, .service = 3s, .may_wait = false});
  other.trial.arrive(instant{} + 3'500ms, {.cost = {100, 50, 1}, .service = 3s});
  other.trial.arrive(instant{} + 3'600ms, {.cost = {100, 50, 1}, .service = 3s, .may_wait = false});
  const auto narrow = sim::compare(other.run(), policy({2, 10'000}), exact);
  REQUIRE(narrow);
  // The second would have held a slot from 1 s to 4 s, so the fourth is refused again.
  CHECK(narrow->all.then.refused == 2);
  CHECK(narrow->all.now.refused == 1);
  REQUIRE(narrow->changed.size() == 1);
  CHECK(narrow->changed[0].number == 1);
}

TEST_CASE("patience is as it was: who gave up gives up when there is still no room, and not before") {
  recorded_simulation run(policy({1, 10'000}));
  run.trial.arrive(instant{}, {.cost = {100, 50, 1}, .service = 10s});
  run.trial.arrive(instant{} + 1s, {.cost = {100, 50, 1}, .service = 1s, .leave_after = 4s});
  const std::string log = run.run();
  const auto same = sim::compare(log, policy({1, 10'000}), exact);
  REQUIRE(same);
  CHECK(same->changed_total == 0);
  CHECK(same->all.now.left == 1);
  const auto more = sim::compare(log, policy({2, 10'000}), exact);
  REQUIRE(more);
  CHECK(more->all.now.left == 0);
  CHECK(more->all.now.started == 2);
  CHECK(more->all.gained == 1);
}

TEST_CASE("the same policy gives everybody the same fate, to the nanosecond") {
  std::uint64_t preempted = 0;
  std::uint64_t refused = 0;
  std::uint64_t left = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    policy rules({6, 8'000});
    rules[interactive].restore_within = 300ms;
    recorded_simulation run(rules);
    add_traffic(run.trial, seed, 600);
    const std::string log = run.run();
    const auto found = sim::compare(log, rules, exact);
    REQUIRE(found);
    CHECK_MESSAGE(found->changed_total == 0, "seed " << seed << ": " << found->explain());
    preempted += found->all.then.preemptions;
    refused += found->all.then.refused;
    left += found->all.then.left;
    CHECK(found->all.then.wasted_tokens == found->all.now.wasted_tokens);
    // The recorded side is what the simulation itself counted.
    for (const workload each : {interactive, batch}) {
      const auto& counted = run.trial.result(each);
      const sim::experience& then = found->classes[each.index()].then;
      CHECK(then.requests == static_cast<std::uint64_t>(counted.arrived));
      CHECK(then.refused == static_cast<std::uint64_t>(counted.refused));
      CHECK(then.left == static_cast<std::uint64_t>(counted.left));
      CHECK(then.preemptions == static_cast<std::uint64_t>(counted.preempted));
      CHECK(then.expired() == static_cast<std::uint64_t>(counted.refused_for(reason::deadline_in_queue)));
    }
  }
  CHECK(preempted > 20);
  CHECK(refused > 20);
  CHECK(left > 20);
}

TEST_CASE("all requests are accounted for, whatever the log and the policy") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::string log;
    core::event_log_writer writer(log);
    core::testing::busy_machine run(seed);
    // Every second log begins in the middle.
    for (int i = 0; seed % 2 == 0 && i < 200; ++i) run.step();
    run.machine.record(&writer);
    for (int i = 0; i < 1'500; ++i) run.step();
    writer.end();
    policy other = core::testing::busy_policy();
    other.total = {5, 3'000};
    other[interactive].floor = {2, 1'000};
    const auto found = sim::compare(log, other);
    REQUIRE_MESSAGE(found, found.error().message());
    for (const sim::experience& side : {found->all.then, found->all.now}) {
      CHECK(side.requests > 300);
      CHECK(side.requests == side.started + side.refused + side.left + side.waiting);
    }
    CHECK(found->all.then.requests == found->all.now.requests);
    CHECK(found->changed.size() <= 100);
    CHECK(found->changed_total >= found->changed.size());
    CHECK(found->reconfigurations > 0);
  }
}

TEST_CASE("runs are paid for under the other policy too") {
  std::string log;
  core::event_log_writer writer(log);
  core::admission machine(policy({4, 10'000}));
  machine.record(&writer);
  core::effects out;
  run_options options;
  options.limit = {.tokens = 300};
  const run_id task = machine.open_run(options, instant{}).value();
  for (int i = 0; i < 4; ++i) {
    out.clear();
    const auto id = machine.arrive({.cost = {100, 50, 1}, .run = task}, instant{} + std::chrono::seconds(i), out);
    if (id != core::request_id{}) {
      machine.finish(id, core::ending::released, usage{50, 50}, instant{} + std::chrono::seconds(i) + 500ms, out);
    }
  }
  machine.close_run(task, instant{} + 9s, out);
  writer.end();
  const auto found = sim::compare(log, policy({1, 10'000}), exact);
  REQUIRE(found);
  CHECK(found->all.then.refused_for[static_cast<std::size_t>(reason::budget_exhausted)] == 1);
  CHECK(found->all.now.refused_for[static_cast<std::size_t>(reason::budget_exhausted)] == 1);
  CHECK(found->changed_total == 0);
}

TEST_CASE("runs are charged under the other policy too, whatever they are called there") {
  std::string log;
  core::event_log_writer writer(log);
  core::admission machine(policy({1, 10'000}));
  machine.record(&writer);
  core::effects out;
  const auto at = [](int second) { return instant{} + std::chrono::seconds(second); };
  // Its place is another's when it is closed with nothing under way, which depends on the policy.
  const run_id early = machine.open_run({}, at(0)).value();
  const auto first = machine.arrive({.cost = {100, 50, 1}}, at(0), out);
  const auto second = machine.arrive({.cost = {100, 50, 1}, .run = early}, at(1), out);
  machine.close_run(early, at(2), out);
  const run_id task = machine.open_run({.limit = {.tokens = 300}}, at(3)).value();
  CHECK(machine.charge_run(task, {.tokens = 250}, at(4), out));
  machine.finish(first, core::ending::released, usage{50, 50}, at(5), out);
  CHECK(!machine.finish(second, core::ending::released, usage{50, 50}, at(6), out));
  CHECK(machine.arrive({.cost = {100, 50, 1}, .run = task}, at(7), out) == core::request_id{});
  writer.end();
  // With two slots the second one runs when its run is closed, and for longer than until the next is opened.
  const auto found = sim::compare(log, policy({2, 10'000}), exact);
  REQUIRE(found);
  CHECK(found->all.now.started == 2);
  CHECK(found->all.now.refused_for[static_cast<std::size_t>(reason::budget_exhausted)] == 1);
}

TEST_CASE("classes are matched by name, and none may be missing") {
  policy wide({4, 4'000});
  const workload evals = wide.add_class(class_policy("evals"));
  recorded_simulation run(wide);
  run.trial.arrive(instant{}, {.workload = evals, .cost = {100, 50, 1}, .service = 1s});
  const std::string log = run.run();

  policy moved({4, 4'000});
  moved.add_class(class_policy("reports"));
  moved.add_class(class_policy("evals"));
  const auto found = sim::compare(log, moved, exact);
  REQUIRE(found);
  CHECK(found->classes.at(2).name == "evals");
  CHECK(found->classes.at(2).now.started == 1);

  const auto missing = sim::compare(log, policy({4, 4'000}));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() ==
        "compare: the log has a class 'evals': there is no class 'evals'; the policy has interactive, batch");
}

TEST_CASE("what is not a log, and what is not a policy, is refused") {
  CHECK(sim::compare("no log", policy({1, 1'000})).error().is(errc::invalid_argument));
  recorded_simulation run(policy({1, 1'000}));
  run.trial.arrive(instant{}, {.cost = {100, 50, 1}, .service = 1s});
  policy wrong({1, 1'000});
  wrong.total.slots = -1;
  CHECK(sim::compare(run.run(), wrong).error().is(errc::invalid_configuration));
}
