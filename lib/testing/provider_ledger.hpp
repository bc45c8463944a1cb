/// \file
/// `provider_ledger`: the mock provider's counters, and the waiting for them.
#pragma once

#include <sluice/testing/mock_stats.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace sluice::testing {

/// Thread-safe.
class provider_ledger {
 public:
  /// Changes the counters by `change(mock_stats&)` and wakes who waits for them.
  template <typename Change>
  void note(Change&& change) {
    {
      const std::lock_guard lock(mutex_);
      std::forward<Change>(change)(stats_);
      stats_.most_open = std::max(stats_.most_open, stats_.open);
      stats_.most_streams = std::max(stats_.most_streams, stats_.streams);
      stats_.most_running = std::max(stats_.most_running, stats_.running);
      stats_.most_waiting = std::max(stats_.most_waiting, stats_.waiting);
      stats_.most_connections = std::max(stats_.most_connections, stats_.connections);
    }
    changed_.notify_all();
  }

  [[nodiscard]] mock_stats read() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  template <typename Predicate>
  [[nodiscard]] bool wait_until(const Predicate& reached, std::chrono::nanoseconds limit) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return reached(std::as_const(stats_)); });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mock_stats stats_;
};

}  // namespace sluice::testing
