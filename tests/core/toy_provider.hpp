/// \file
/// A provider as small as can be, always asked for more than the limit lets through, under virtual time.
#pragma once

#include "core/adaptive_limit.hpp"
#include "core/service_sample.hpp"

#include <sluice/core/adaptive.hpp>
#include <sluice/core/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

namespace sluice::core {

/// Work starts whenever less is held than the limit allows. Beyond `capacity(now)` it is refused at once, and the next
/// start is tried 100 ms later.
class toy_provider {
 public:
  /// How much runs at once before it refuses.
  std::function<std::int64_t(instant)> capacity = [](instant) { return std::int64_t{32}; };
  /// What one exchange takes that starts with so many in flight, its own included.
  std::function<service_sample(std::mt19937_64&, std::int64_t in_flight, instant)> take;
  /// Everything ends in a time-out instead.
  bool times_out = false;
  /// How much work there is at once.
  std::function<std::int64_t(instant)> demand = [](instant) { return std::int64_t{1'000'000}; };

  explicit toy_provider(adaptive_limit& limit) : limit_(limit) {}

  /// What has been seen since the last `reset`.
  struct figures {
    /// Slot-seconds held, and those that there were.
    double held = 0;
    double room = 0;
    /// Seconds with a limit above the capacity.
    double over = 0;
    std::int64_t refused = 0;
    std::int64_t completed = 0;
    /// When first so much was held as 90 % of the capacity; `never`.
    instant converged = never;
    [[nodiscard]] double utilisation() const { return held / room; }
  };
  [[nodiscard]] const figures& seen() const { return seen_; }
  void reset() { seen_ = {}; }

  void run_until(instant end) {
    for (;;) {
      const bool may_start = held() < std::min(limit_.limit(), demand(now_));
      if (may_start && now_ >= retry_at_) {
        start();
        continue;
      }
      instant next = std::min(end, running_.empty() ? never : running_.top().end);
      if (may_start) next = std::min(next, retry_at_);
      pass(next);
      if (now_ == end) return;
      if (!running_.empty() && running_.top().end == now_) finish();
    }
  }

 private:
  struct exchange {
    instant end;
    std::int64_t number;
    std::int64_t in_flight;
    service_sample what;
    bool operator>(const exchange& other) const { return std::tie(end, number) > std::tie(other.end, other.number); }
  };

  [[nodiscard]] std::int64_t held() const { return static_cast<std::int64_t>(running_.size()); }

  void start() {
    if (held() >= capacity(now_)) {
      ++seen_.refused;
      retry_at_ = now_ + std::chrono::milliseconds(100);
      limit_.signal(provider_signal::rate_limited, now_);
      return;
    }
    const service_sample what = take(draw_, held() + 1, now_);
    running_.push({now_ + what.total, ++number_, held() + 1, what});
    if (seen_.converged == never && static_cast<double>(held()) >= 0.9 * static_cast<double>(capacity(now_)))
      seen_.converged = now_;
  }

  void finish() {
    const exchange done = running_.top();
    // As a caller sees it: the slot is given back after the limit was told.
    const bool binding = held() >= limit_.limit() && limit_.limit() < demand(now_);
    running_.pop();
    ++seen_.completed;
    if (times_out)
      limit_.signal(provider_signal::timed_out, now_);
    else
      limit_.sample(done.what, done.in_flight, binding, now_);
  }

  void pass(instant next) {
    const double length = std::chrono::duration<double>(next - now_).count();
    seen_.held += length * static_cast<double>(std::min(held(), capacity(now_)));
    seen_.room += length * static_cast<double>(capacity(now_));
    if (limit_.limit() > capacity(now_)) seen_.over += length;
    now_ = next;
  }

  adaptive_limit& limit_;
  figures seen_{};
  std::mt19937_64 draw_{11};
  std::priority_queue<exchange, std::vector<exchange>, std::greater<>> running_;
  std::int64_t number_ = 0;
  instant now_{};
  instant retry_at_{};
};

}  // namespace sluice::core
