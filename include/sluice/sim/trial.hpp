/// \file
/// `sim::run_trial`: traffic, an arm and a provider under virtual time, from the first arrival to the last end.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/sim/arm.hpp>
#include <sluice/sim/decision_log.hpp>
#include <sluice/sim/provider_model.hpp>
#include <sluice/sim/request_source.hpp>
#include <sluice/sim/trace.hpp>
#include <sluice/sim/visit.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice::sim {

/// How callers behave, whatever the arm.
struct caller_rules {
  /// Attempts in all, `trace_attempts` at most. After refusal k, counted from 0, they wait `backoff * 2^k * jitter`.
  std::uint32_t attempts = trace_attempts;
  duration backoff = std::chrono::milliseconds(250);
  /// By when a request of a class is to be done, from its arrival; negative: no deadline.
  std::array<duration, max_workloads> done_within = filled(duration(-1));
  /// Whether callers leave when they still wait at the instant at which their last attempt would begin, had all before
  /// it been refused at once: as patient as a caller of an arm that lets nobody wait.
  bool patience_of_retries = false;
  /// Whether callers leave at their deadline, also in mid-answer. Those who do not still fail to be done in time.
  bool hang_up_at_deadline = false;

  [[nodiscard]] static constexpr std::array<duration, max_workloads> filled(duration with) noexcept {
    std::array<duration, max_workloads> all{};
    all.fill(with);
    return all;
  }
};

/// The provider changes its ways.
struct provider_change {
  instant when{};
  provider_model model{};
};

/// What was so at an instant.
struct trial_sample {
  instant at{};
  arm_levels arm{};
  std::int64_t provider_running = 0;
  std::int64_t provider_waiting = 0;
};

struct trial_rules {
  provider_model provider{};
  caller_rules callers{};
  /// In order of time.
  std::vector<provider_change> changes;
  /// The arm hears of the first token, and then each time so many more have come.
  std::int64_t report_every = 128;
  /// From an arm's `stop` until the provider is really free of the attempt.
  duration stop_delay{};
  /// When positive: a sample so often while anything happens.
  duration sample_every{};
};

/// What came of a trial as a whole.
struct trial_result {
  std::uint64_t requests = 0;
  /// Things that happened, of all kinds.
  std::uint64_t events = 0;
  /// When the last of them did.
  instant end{};
  std::vector<trial_sample> samples;
};

/// Runs a trial. `on_end` gets each request when it is over, in order of that; those that wait for ever come last. The
/// same traffic, arm and rules give the same decisions; they are noted in `log` if there is one.
///
/// Precondition: the arm is new, and the traffic's attempts cover `callers.attempts`.
/// Complexity: O(log n) an event, n being the requests under way; memory is that of the most under way at once, besides
/// the samples.
trial_result run_trial(request_source& traffic, arm& decides, const trial_rules& rules,
                       const std::function<void(const visit&)>& on_end, decision_log* log = nullptr);

}  // namespace sluice::sim
