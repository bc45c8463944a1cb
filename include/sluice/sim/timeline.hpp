/// \file
/// `sim::timeline`: virtual time. A clock that jumps from one planned event to the next.
#pragma once

#include <sluice/core/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice::sim {

/// A clock and what is planned on it. It starts at `instant{}` and never goes back. What is planned for the same
/// instant happens in the order in which it was planned, so that a run is the same every time.
///
/// Thread safety: none; one thread at a time.
class timeline {
 public:
  /// The present.
  [[nodiscard]] instant now() const noexcept { return now_; }

  /// Plans `what` for `when`; an instant that has passed counts as now. Called from within an event as well. An
  /// exception from `what` leaves `run` and `run_until`, and the rest stays planned. O(log n).
  void at(instant when, std::function<void()> what);

  /// The same, `length` from now.
  void in(duration length, std::function<void()> what) { at(after(now_, length), std::move(what)); }

  /// Runs all that is planned, and all that it plans, until nothing is left.
  void run() { run_until(never); }

  /// The same for what is planned up to and including `end`; then it is `end`, unless that is `never`.
  void run_until(instant end);

  /// How many events are planned.
  [[nodiscard]] std::size_t planned() const noexcept { return queue_.size(); }

 private:
  struct event {
    instant when;
    std::uint64_t number;
    std::function<void()> what;
  };
  static bool later(const event& a, const event& b) noexcept;

  instant now_{};
  std::uint64_t events_ = 0;
  std::vector<event> queue_;
};

}  // namespace sluice::sim
