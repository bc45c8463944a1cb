/// \file
/// How much of what starts is done for the first time, and how much again, over a sliding window.
#pragma once

#include "core/wide.hpp"

#include <sluice/core/attempt.hpp>
#include <sluice/core/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// The window slides in sixteenths. What waits to be done again counts from its arrival until it starts or goes, so
/// that many who come together are not let through by waiting together; what starts counts from then on, for a window.
///
/// Preconditions: amounts are not negative, and no instant is earlier than a former one. All: O(1).
class retry_window {
 public:
  /// Retries and hedges: what they reserve, and how many they are.
  struct repeats {
    wide tokens = 0;
    std::int64_t count = 0;
  };

  /// Puts `rules` in force. A window of another length, or one that begins or ends to matter, begins empty; what waits
  /// stays.
  void configure(const retry_budget& rules) noexcept;

  /// Work starts for the first time.
  void first(std::int64_t tokens, instant now) noexcept {
    if (now >= ends_) [[unlikely]]
      move_on(now);
    filling_ += tokens;
  }

  /// Whether so much may come again.
  [[nodiscard]] bool allows(std::int64_t tokens, instant now) const noexcept;
  /// It comes, and waits; then it starts, or goes. Also when nothing is limited.
  void wait(std::int64_t tokens) noexcept { add(waiting_, tokens); }
  void leave(std::int64_t tokens) noexcept { remove(waiting_, tokens); }
  void start(std::int64_t tokens, instant now) noexcept;

  /// What there is in the window: of work done for the first time, and of retries and hedges, those included that wait.
  struct counts {
    wide fresh = 0;
    repeats again;
  };
  [[nodiscard]] counts within(instant now) const noexcept;
  [[nodiscard]] const repeats& waiting() const noexcept { return waiting_; }
  [[nodiscard]] const retry_budget& rules() const noexcept { return rules_; }

 private:
  static constexpr std::int64_t buckets = 16;

  static void add(repeats& to, std::int64_t tokens) noexcept { to = {to.tokens + tokens, to.count + 1}; }
  static void remove(repeats& from, std::int64_t tokens) noexcept { from = {from.tokens - tokens, from.count - 1}; }
  [[nodiscard]] std::int64_t bucket_at(instant now) const noexcept;
  [[nodiscard]] counts& bucket(std::int64_t number) noexcept {
    return counts_[static_cast<std::size_t>(number % buckets)];
  }
  void move_on(instant now) noexcept;

  retry_budget rules_{};
  std::array<counts, static_cast<std::size_t>(buckets)> counts_{};
  counts sum_{};
  /// What is fresh in the bucket that is being filled: every start costs this one sum.
  wide filling_ = 0;
  repeats waiting_{};
  /// The number of the bucket that is being filled, counted from the clock's beginning; its place; and when it has been
  /// filled.
  std::int64_t bucket_ = 0;
  std::size_t place_ = 0;
  instant ends_ = instant::min();
};

}  // namespace sluice::core
