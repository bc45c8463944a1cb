/// \file
/// `backoff`: how long to wait before something is tried once more. One for all calls of an endpoint.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/llm/retry_policy.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace sluice::llm::detail {

/// Thread safety: all members may be called from any thread.
class backoff {
 public:
  /// Nobody wakes nearer to another one than this.
  static constexpr duration step = std::chrono::microseconds(2'500);

  /// `seed`: zero for one of the system's.
  backoff(const retry_policy& rules, std::uint64_t seed);

  /// Random, between zero and `most`.
  [[nodiscard]] duration up_to(duration most) noexcept;

  /// The longest wait after so many failures in a row: `min(first_backoff * 2^(failures - 1), max_backoff)`.
  [[nodiscard]] duration longest(int failures) const noexcept;

  /// What is added to a wait that a provider asks for: up to a tenth of it. To no wait at all: up to a tenth of the
  /// first back-off.
  [[nodiscard]] duration added_to(duration asked) noexcept;

  /// A moment to wake at, random between `earliest` and `earliest + spread`, or the next that is free: each is given
  /// away once, and they are `step` apart. O(log n) in the moments that lie ahead.
  [[nodiscard]] instant moment(instant now, instant earliest, duration spread);

 private:
  const retry_policy rules_;
  std::atomic<std::uint64_t> state_;
  std::mutex mutex_;
  /// Runs of moments that are given away, in steps: the first of each, and the one behind its last.
  std::map<std::int64_t, std::int64_t> taken_;
};

}  // namespace sluice::llm::detail
