/// \file
/// A limit on concurrency by the gradient of raw durations, as Netflix's concurrency-limits describes its Gradient2, to
/// compare with.
#pragma once

#include <algorithm>

namespace sluice_sim {

/// A long-term average of durations over the last one, with some tolerance, says how much of the limit to keep; then a
/// few are added for a queue, and the result is smoothed. The constants are that library's defaults, but for the
/// bounds.
class gradient_limit {
 public:
  gradient_limit(double initial, double least, double most) noexcept : limit_(initial), least_(least), most_(most) {}

  [[nodiscard]] double limit() const noexcept { return limit_; }

  /// Something ended, however it did, after `seconds`, with `in_flight` under way.
  void sample(double seconds, double in_flight) noexcept {
    const double last = std::max(seconds, 1e-6);
    remember(last);
    // Recovers quickly from a long time of overload.
    if (average_ / last > 2) average_ *= 0.95;
    if (in_flight < limit_ / 2) return;
    const double gradient = std::clamp(tolerance * average_ / last, 0.5, 1.0);
    const double wished = limit_ * gradient + queue;
    limit_ = std::clamp(limit_ * (1 - smoothing) + wished * smoothing, least_, most_);
  }

 private:
  void remember(double last) noexcept {
    if (count_ < warm_up) {
      sum_ += last;
      average_ = sum_ / ++count_;
      return;
    }
    average_ += (last - average_) * 2 / (window + 1);
  }

  static constexpr double tolerance = 1.5;
  static constexpr double smoothing = 0.2;
  static constexpr double queue = 4;
  static constexpr int window = 600;
  static constexpr int warm_up = 10;

  double limit_;
  double least_;
  double most_;
  double average_ = 0;
  double sum_ = 0;
  int count_ = 0;
};

}  // namespace sluice_sim
