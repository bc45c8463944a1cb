#include "sim/recorded_simulation.hpp"

#include <sluice/sim/arms.hpp>
#include <sluice/sim/log_trace.hpp>
#include <sluice/sim/request_source.hpp>
#include <sluice/sim/trial.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

using namespace sluice;
using namespace std::chrono_literals;
using sim::testing::add_traffic;
using sim::testing::recorded_simulation;
using sim::testing::two_slots;

namespace {

std::string little_log() {
  recorded_simulation run(two_slots(1));
  const sim::job chore{.workload = batch, .cost = {1'001, 400, 1}, .service = 10s, .used = {500, 300}};
  run.trial.arrive(instant(5s), chore);
  run.trial.arrive(instant(5s), chore);
  run.trial.arrive(instant(6s), {.workload = interactive, .cost = {500, 100, 1}, .service = 1s});
  run.trial.arrive(instant(7s), {.workload = batch, .cost = {700, 100, 1}, .service = 1s, .may_wait = false});
  return run.run();
}

}  // namespace

TEST_CASE("each piece of work once, from time zero, with what it asked for and what it used") {
  const auto trace = sim::from_log(little_log(), 1);
  REQUIRE_MESSAGE(trace, trace.error().message());
  // One of the first two was preempted and came again.
  REQUIRE(trace->requests.size() == 4);
  const sim::trace_request& first = trace->requests[0];
  CHECK(first.arrival == instant{});
  CHECK(first.workload == batch);
  CHECK(first.estimate() == cost{1'001, 400, 1});
  for (const auto& each : first.attempts) {
    CHECK(each.input_tokens == 500);
    CHECK(each.output_tokens == 300);
    CHECK(each.jitter >= 0.5);
    CHECK(each.jitter < 1.5);
  }
  CHECK(trace->requests[2].arrival == instant{} + 1s);
  CHECK(trace->requests[2].workload == interactive);
  CHECK(trace->requests[2].attempts[0].input_tokens == 400);

  // What was refused is in it, with what is usual in its class.
  CHECK(trace->estimated == 1);
  const sim::trace_request& refused = trace->requests[3];
  CHECK(refused.estimate() == cost{700, 100, 1});
  CHECK(refused.attempts[0].input_tokens == 500);
  CHECK(refused.attempts[0].output_tokens == 300);
}

TEST_CASE("without any that has ended, a class uses what it asks for") {
  recorded_simulation run(policy({4, 4'000}));
  run.trial.arrive(instant{}, {.cost = {900, 300, 9}, .service = 1s});
  const auto trace = sim::from_log(run.run(), 1);
  REQUIRE(trace);
  CHECK(trace->estimated == 1);
  CHECK(trace->requests.at(0).attempts[0].input_tokens == 600);
  CHECK(trace->requests.at(0).attempts[0].output_tokens == 300);
}

TEST_CASE("the seed draws what no log knows") {
  const std::string log = little_log();
  const auto one = sim::from_log(log, 1);
  const auto same = sim::from_log(log, 1);
  const auto other = sim::from_log(log, 2);
  REQUIRE((one && same && other));
  CHECK(one->requests[0].attempts[0].replica == same->requests[0].attempts[0].replica);
  CHECK(one->requests[0].attempts[0].replica != other->requests[0].attempts[0].replica);
}

TEST_CASE("a log's traffic goes through a trial") {
  recorded_simulation run(policy({8, 20'000}));
  add_traffic(run.trial, 3, 400);
  const auto trace = sim::from_log(run.run(), 7);
  REQUIRE(trace);
  REQUIRE(trace->requests.size() == 400);
  const auto arm = sim::make_policy_arm("sluice", policy({16, 40'000}));
  sim::trace_source source(trace->requests);
  std::uint64_t succeeded = 0;
  const auto result =
      sim::run_trial(source, *arm, {}, [&](const sim::visit& each) { succeeded += each.succeeded ? 1 : 0; });
  CHECK(result.requests == 400);
  CHECK(succeeded > 350);
}

TEST_CASE("files, and what is wrong with them") {
  const auto file = std::filesystem::temp_directory_path() / "sluice_log_trace_test.log";
  const std::string log = little_log();
  std::ofstream(file, std::ios::binary) << log;
  const auto read = sim::from_log_file(file, 1);
  REQUIRE(read);
  CHECK(read->requests.size() == 4);
  std::ofstream(file, std::ios::binary) << log.substr(0, 40);
  const auto cut = sim::from_log_file(file, 1);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().message().find(file.string() + ": event log: byte ") == 0);
  std::filesystem::remove(file);
  const auto missing = sim::from_log_file(file, 1);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == file.string() + ": No such file or directory");

  recorded_simulation empty(policy({1, 1'000}));
  empty.trial.close(instant{});
  CHECK(sim::from_log(empty.run(), 1).error().message() == "event log: there are no requests in it");
}
