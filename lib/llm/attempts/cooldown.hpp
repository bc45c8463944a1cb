/// \file
/// `cooldown`: one pause for all callers of an endpoint whose provider says that it has too much to do.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/llm/retry_policy.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include "llm/attempts/backoff.hpp"

#include <atomic>
#include <mutex>
#include <optional>

namespace sluice::llm::detail {

/// Pauses the gate for as long as the provider asks, and up to a tenth more; at most `max_retry_after`. When it does
/// not say, for a random part of a time that doubles with each failure in a row. Exchanges that were sent before the
/// pause began are failures of the same moment: they do not count again.
///
/// Thread safety: all members may be called from any thread.
class cooldown {
 public:
  cooldown(bulkhead& gate, backoff& waits, const retry_policy& rules) noexcept
      : gate_(gate), waits_(waits), rules_(rules) {}

  /// An exchange that was sent at `sent` failed under load; `asked`: what the provider asks to wait. Gives the end of
  /// the pause.
  instant begin(instant sent, std::optional<duration> asked);

  /// The provider has answered.
  void end() noexcept {
    if (failures_.load(std::memory_order_relaxed) != 0) failures_.store(0, std::memory_order_relaxed);
  }

 private:
  bulkhead& gate_;
  backoff& waits_;
  const retry_policy rules_;
  std::mutex mutex_;
  /// In a row.
  std::atomic<int> failures_{0};
  instant begun_ = instant::min();
  instant until_ = instant::min();
};

}  // namespace sluice::llm::detail
