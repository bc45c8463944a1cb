/// \file
/// `sim::simulation`: the very policy of production under virtual time. An hour of traffic takes milliseconds, so a
/// policy can be tried before it is put in force.
///
///     sim::simulation trial(policy);
///     sim::random draw(42);
///     for (instant when{}; when < instant{} + 1h; when += draw.exponential(250ms))
///       trial.arrive(when, {.workload = interactive, .cost = {.tokens = 1'600}, .service = 3s});
///     trial.run();
///     trial.result(interactive).wait_percentile(0.95);
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/core/statistics.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/sim/class_result.hpp>
#include <sluice/sim/timeline.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace sluice::core {
class event_log_writer;
}  // namespace sluice::core

namespace sluice::sim {

/// A piece of work that comes to the gate.
struct job {
  sluice::workload workload{};
  sluice::cost cost{};
  /// How long it runs once it has been let in. A preempted job starts from the beginning.
  duration service{};
  /// From its arrival: it must have started by then, or is turned away. Negative: no deadline.
  duration start_within{-1};
  /// From its arrival: its owner gives up if it still waits. Negative: never.
  duration leave_after{-1};
  /// Whether it waits at all, or wants room at once.
  bool may_wait = true;
  /// Whether it may be stopped while it runs, and how long that takes.
  bool stoppable = true;
  duration stop_delay{};
  /// What it really takes; a negative input means the whole reservation.
  usage used{-1, 0};
};

/// A gate on a timeline, and the jobs that come to it. Every decision is `core::admission`'s: this class only moves the
/// clock, ends what has run for its time, brings preempted jobs back with their age, and counts.
///
/// The same policy and the same jobs give the same log, byte for byte.
///
/// Thread safety: none; one thread at a time.
class simulation {
 public:
  /// Throws `error_exception` when the policy is not valid.
  explicit simulation(policy initial);
  simulation(simulation&&) noexcept;
  simulation& operator=(simulation&&) noexcept;
  ~simulation();

  /// Its time, for whatever else is to happen during the run.
  [[nodiscard]] timeline& time() noexcept;

  /// Plans a job's arrival; an instant that has passed counts as now.
  void arrive(instant when, job what);
  /// Plans a change of policy. Throws `error_exception` out of `run` when it is refused.
  void reconfigure(instant when, policy next);
  /// Plans the gate's closing.
  void close(instant when);

  /// Until nothing is planned any more; jobs that can never start without another event still wait then.
  void run();
  /// Until `end`, included.
  void run_until(instant end);

  /// What the jobs of a class have lived through so far. Precondition: the policy has it.
  [[nodiscard]] const class_result& result(workload which) const;
  /// The gate's own accounts.
  [[nodiscard]] statistics accounts() const;
  /// The first of the core's invariants that does not hold; empty when all do.
  [[nodiscard]] std::string broken_invariant() const;

  /// From now on each event and each decision is written to `log`, a line each. It grows by about 40 bytes a line.
  void keep_log(bool kept) noexcept;
  /// For instance `12.500000000 granted batch #17 after 2.000000000`: the instant in seconds, what happened, the class,
  /// the job's number in order of arrival.
  [[nodiscard]] const std::string& log() const noexcept;

  /// From now on the gate's events are written to `to`, as `core::admission::record` says.
  void record(core::event_log_writer* to) noexcept;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::sim
