/// \file
/// How fast capacity comes free while somebody waits for it.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice::core {

/// Slots and tokens that came free per second of busy time, that is, while somebody waited; what comes free while
/// nobody does says nothing about how fast it would have been wanted. Weighted with a half-life of 10 s of busy time; a
/// silence lowers the rates, since it is busy time without a release.
///
/// What is known is forgotten after 10 s without busy time, so that a rate from a bad hour cannot refuse all who would
/// have shown that it is over.
///
/// What comes free within a millisecond of busy time weighs alike.
///
/// An instant earlier than a former one counts as the former one. All: O(1).
class drain_rate {
 public:
  static constexpr duration half_life = std::chrono::seconds(10);
  static constexpr duration forgotten_after = std::chrono::seconds(10);
  /// Fewer releases in busy time give no estimate.
  static constexpr std::uint32_t fewest_releases = 8;

  /// Capacity came free. `somebody_waits`: for it, before any of it is given away; if not, it does not count. Tokens
  /// that come free while work runs on are released with no slots.
  void released(std::int64_t slots, std::int64_t tokens, instant now, bool somebody_waits) noexcept;

  /// Whether somebody waits from now on: to be called when that changes, and harmless when it does not.
  void busy(instant now, bool somebody_waits) noexcept;

  /// How long until so much has come free: the later of both axes. Nothing as long as fewer than 8 releases of slots
  /// are known, or when none of what is asked for has ever come free. Held at `duration::max()`.
  [[nodiscard]] std::optional<duration> estimate(std::int64_t slots_ahead, std::int64_t tokens_ahead,
                                                 instant now) const noexcept;

 private:
  struct sums {
    double slots = 0;
    double tokens = 0;
    /// Busy time, in seconds.
    double time = 0;
  };
  static constexpr duration grain = std::chrono::milliseconds(1);

  [[nodiscard]] sums decayed(duration busy_time) const noexcept;
  /// With the time since, too short to decay anything.
  [[nodiscard]] sums extended(duration busy_time) const noexcept;

  sums sums_{};
  std::uint32_t releases_ = 0;
  /// Whether there was busy time that is not forgotten.
  bool known_ = false;
  bool waits_ = false;
  /// Up to when time has been reckoned, and when somebody last waited.
  instant last_ = instant::min();
  instant last_busy_ = instant::min();
};

}  // namespace sluice::core
