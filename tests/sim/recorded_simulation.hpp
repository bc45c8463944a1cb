/// \file
/// A simulation whose gate is recorded.
#pragma once

#include <sluice/core/event_log.hpp>
#include <sluice/sim/random.hpp>
#include <sluice/sim/simulation.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace sluice::sim::testing {

class recorded_simulation {
 public:
  explicit recorded_simulation(policy rules) : trial(std::move(rules)) { trial.record(&writer_); }

  simulation trial;

  /// Runs to the end, and gives the log.
  std::string run() {
    trial.run();
    writer_.end();
    return std::move(log_);
  }

 private:
  std::string log_;
  core::event_log_writer writer_{log_};
};

/// Two slots and two classes, the urgent one with a floor of so many slots, and nothing else switched on.
inline policy two_slots(std::int64_t floor) {
  using namespace std::chrono_literals;
  policy rules({2, 10'000});
  rules[interactive].floor = {floor, floor * 1'000};
  rules[interactive].restore_within = 500ms;
  rules[batch].floor = {};
  rules[interactive].elastic = rules[batch].elastic = {};
  rules.feasibility.enabled = false;
  rules.overload.enabled = false;
  return rules;
}

/// Random traffic for two classes with deadlines, patience and preemption.
inline void add_traffic(simulation& trial, std::uint64_t seed, int count) {
  using namespace std::chrono_literals;
  random draw(seed);
  instant when{};
  for (int i = 0; i < count; ++i) {
    when += draw.exponential(200ms);
    job what;
    what.workload = draw.uniform() < 0.3 ? batch : interactive;
    what.cost = {static_cast<std::int64_t>(200 + draw() % 2'000), static_cast<std::int64_t>(draw() % 200), 1};
    what.service = draw.exponential(what.workload == batch ? 4s : 700ms);
    what.stop_delay = draw.exponential(30ms);
    if (draw.uniform() < 0.4) what.start_within = draw.exponential(2s);
    if (draw.uniform() < 0.2) what.leave_after = draw.exponential(2s);
    what.may_wait = draw.uniform() < 0.9;
    trial.arrive(when, what);
  }
}

}  // namespace sluice::sim::testing
