/// \file
/// Whether a class gets more work than can be done in time, for a while now.
#pragma once

#include <sluice/core/queueing.hpp>
#include <sluice/core/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// Counts arrivals and misses over a window that slides in tenths. Begins when more than `enter` of at least 20
/// arrivals were missed; ends when less than `leave` of them were, when none was, or when the window is empty.
///
/// An instant earlier than a former one counts as the former one. All: O(1).
class overload {
 public:
  static constexpr std::int64_t fewest_arrivals = 20;

  /// Puts `rules` in force. A window of another length begins empty.
  void configure(const overload_policy& rules) noexcept;

  /// A request has come, whatever becomes of it.
  void arrived(instant now) noexcept;
  /// A request could not be done in time: it was infeasible, or expired in the queue.
  void missed(instant now) noexcept;

  /// Whether there is overload now. False when it is off.
  [[nodiscard]] bool active(instant now) noexcept;

 private:
  struct counts {
    std::int64_t arrived = 0;
    std::int64_t missed = 0;
  };
  static constexpr std::size_t buckets = 10;

  /// The bucket of `now`. Most events fall into the one of the event before.
  [[nodiscard]] counts& advance(instant now) noexcept { return begun_ && now < ends_ ? counts_[place_] : move_on(now); }
  [[nodiscard]] counts& move_on(instant now) noexcept;
  void judge() noexcept;

  overload_policy rules_{};
  std::array<counts, buckets> counts_{};
  counts sum_{};
  /// The number of the bucket that is being filled, counted from the clock's beginning.
  std::int64_t bucket_ = 0;
  std::size_t place_ = 0;
  /// When it has been filled.
  instant ends_ = instant::min();
  bool begun_ = false;
  bool active_ = false;
};

}  // namespace sluice::core
