#include "sim/recorded_simulation.hpp"

#include <sluice/core/admission.hpp>
#include <sluice/core/event_log.hpp>
#include <sluice/sim/recorded_run.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace sluice;
using namespace std::chrono_literals;
using sim::fate;
using sim::recorded_run;
using sim::testing::recorded_simulation;
using sim::testing::two_slots;

namespace {

constexpr instant at(duration since) { return instant(since); }

}  // namespace

TEST_CASE("what happened to each piece of work, once for each piece") {
  recorded_simulation run(two_slots(1));
  const sim::job chore{.workload = batch, .cost = {1'000, 400, 1}, .service = 10s, .stop_delay = 200ms};
  run.trial.arrive(at(0s), chore);
  run.trial.arrive(at(0s), chore);
  run.trial.arrive(at(1s), {.workload = interactive, .cost = {500, 100, 1}, .service = 1s});
  run.trial.arrive(at(1s), {.workload = batch, .cost = {700, 0, 1}, .service = 1s, .leave_after = 250ms});
  run.trial.arrive(at(2s), {.workload = batch, .cost = {700, 0, 1}, .service = 1s, .may_wait = false});
  const auto read = recorded_run::read(run.run());
  REQUIRE(read);
  REQUIRE(read->requests.size() == 5);
  CHECK(read->begin == at(0s));
  CHECK(read->unknown == 0);

  // Told to stop at 1.5 s, stopped at 1.7 s, on again when the urgent one has ended.
  const auto& first = read->requests[0].stops.empty() ? read->requests[1] : read->requests[0];
  REQUIRE(first.stops.size() == 1);
  CHECK(first.stops[0].after_grant == 1'700ms);
  CHECK(first.stops[0].delay == 200ms);
  CHECK(first.stops[0].again_after == 0s);
  CHECK(first.fate.what == fate::kind::ended);
  CHECK(first.fate.preemptions == 1);
  CHECK(first.fate.waited == 2'700ms);
  CHECK(first.held == 10s);
  CHECK(first.used == usage{600, 400});
  CHECK(first.stoppable_after == 0s);
  CHECK(read->end == at(12'700ms));

  const auto& urgent = read->requests[2];
  CHECK(urgent.asked.workload == interactive);
  CHECK(urgent.arrived == at(1s));
  CHECK(urgent.fate.what == fate::kind::ended);
  CHECK(urgent.fate.waited == 700ms);
  CHECK(urgent.held == 1s);

  const auto& gone = read->requests[3];
  CHECK(gone.fate.what == fate::kind::left);
  CHECK(gone.fate.waited == 250ms);
  CHECK(gone.left_after == 250ms);
  CHECK(gone.held < 0s);

  const auto& refused = read->requests[4];
  CHECK(refused.fate.what == fate::kind::refused);
  CHECK(refused.fate.why == reason::no_room);
  CHECK_FALSE(refused.fate.started());
}

TEST_CASE("reports and signals belong to the grant; what is not over has no length") {
  std::string log;
  core::event_log_writer writer(log);
  core::admission machine(policy({1, 10'000}));
  machine.record(&writer);
  core::effects out;
  const core::request_id a = *machine.arrive_at_once({.cost = {1'000, 600, 1}}, at(1s));
  machine.arrive({.cost = {100, 50, 1}}, at(1s), out);
  REQUIRE(machine.report(a, {.input_tokens = 400, .output_tokens = 10}, at(2s), out));
  machine.signal(a, provider_signal::overloaded, at(3s), out);
  machine.signal({}, provider_signal::timed_out, at(3s), out);
  machine.pause(at(4s), at(3s), out);
  policy next({1, 9'000});
  next.revision = 2;
  REQUIRE(machine.reconfigure(next, at(5s), out));
  writer.end();

  const auto read = recorded_run::read(log);
  REQUIRE(read);
  REQUIRE(read->requests.size() == 2);
  const auto& it = read->requests[0];
  CHECK(it.fate.what == fate::kind::running);
  CHECK(it.held < 0s);
  REQUIRE(it.reports.size() == 1);
  CHECK(it.reports[0].after_grant == 1s);
  CHECK(it.reports[0].how_far.input_tokens == 400);
  REQUIRE(it.signals.size() == 1);
  CHECK(it.signals[0].after_grant == 2s);
  CHECK(it.signals[0].what == provider_signal::overloaded);
  CHECK(read->requests[1].fate.what == fate::kind::waiting);
  CHECK(read->requests[1].fate.waited == 4s);
  CHECK(read->events.size() == 2);
  CHECK(read->reconfigurations == 1);
  CHECK(read->initial.total.tokens == 10'000);
}

TEST_CASE("work that came before the log began is left out") {
  core::admission machine(policy({2, 10'000}));
  core::effects out;
  const core::request_id early = *machine.arrive_at_once({.cost = {100, 0, 1}}, at(1s));
  std::string log;
  core::event_log_writer writer(log);
  machine.record(&writer);
  const core::request_id late = *machine.arrive_at_once({.cost = {200, 0, 1}}, at(2s));
  machine.finish(early, core::ending::released, usage{1, 1}, at(3s), out);
  machine.finish(late, core::ending::abandoned, usage{2, 2}, at(4s), out);
  writer.end();
  const auto read = recorded_run::read(log);
  REQUIRE(read);
  CHECK(read->unknown == 1);
  REQUIRE(read->requests.size() == 1);
  CHECK(read->requests[0].asked.cost.tokens == 200);
  CHECK(read->requests[0].held == 2s);
  CHECK(read->requests[0].how == core::ending::abandoned);
}

TEST_CASE("the middle of some lengths") {
  CHECK(sim::median_of({}, 7s) == 7s);
  CHECK(sim::median_of({3s}, 7s) == 3s);
  CHECK(sim::median_of({9s, 1s, 3s}, 7s) == 3s);
  CHECK(sim::median_of({9s, 1s, 3s, 5s}, 7s) == 5s);
}

TEST_CASE("a log that is cut off is refused") {
  recorded_simulation run(policy({1, 1'000}));
  run.trial.arrive(at(0s), {.cost = {100, 50, 1}, .service = 1s});
  const std::string log = run.run();
  const auto read = recorded_run::read(std::string_view(log).substr(0, log.size() - 3));
  REQUIRE_FALSE(read);
  CHECK(read.error().is(errc::invalid_argument));
}
