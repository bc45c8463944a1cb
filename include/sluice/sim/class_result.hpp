/// \file
/// `sim::class_result`: what the work of one class lived through in a simulation.
#pragma once

#include <sluice/core/decision.hpp>
#include <sluice/core/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::sim {

/// Counts and waits of one class. A plain value.
///
/// Every job that came ends once: `arrived = completed + refused + left`, when nothing is waiting or running any more.
class class_result {
 public:
  /// Jobs that came.
  std::int64_t arrived = 0;
  /// Jobs that ran to their end.
  std::int64_t completed = 0;
  /// Jobs that were turned away, in all and by reason.
  std::int64_t refused = 0;
  /// Jobs whose owner gave up while they waited.
  std::int64_t left = 0;
  /// How often running work was stopped for more urgent work. It came again each time.
  std::int64_t preempted = 0;

  /// How many were turned away for `why`.
  [[nodiscard]] std::int64_t refused_for(reason why) const noexcept {
    return by_reason_.at(static_cast<std::size_t>(why));
  }
  /// Completed jobs among those that came; 1 when none came.
  [[nodiscard]] double success() const noexcept;

  /// The wait that `share` (0 to 1) of the grants did not exceed, by nearest rank; zero when there was no grant. A job
  /// that was preempted counts once for each grant; the time it ran in vain counts as waiting. O(n).
  [[nodiscard]] duration wait_percentile(double share) const;
  /// The waits from arrival to grant, in the order of the grants.
  [[nodiscard]] const std::vector<duration>& waits() const noexcept { return waits_; }

 private:
  friend class simulation;
  std::array<std::int64_t, 16> by_reason_{};
  std::vector<duration> waits_;
};

}  // namespace sluice::sim
