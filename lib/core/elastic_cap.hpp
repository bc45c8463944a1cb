/// \file
/// A ceiling for a class that makes room before more urgent work is hurt.
#pragma once

#include <sluice/core/adaptive.hpp>
#include <sluice/core/time.hpp>

#include <cstdint>

namespace sluice::core {

/// Slots that one class may hold: falls by `backoff` (at least by one) when classes of higher priority suffer, rises by
/// one when they do not and the cap is what the class waits for; at most one change per `window`. Begins at the
/// ceiling, and falls to `minimum` when the first of the classes above is seen: from then on it is asked before more is
/// taken, since a class that fills the pool first and asks afterwards has already hurt somebody.
///
/// The classes above *suffer* while one of their waiters is older than `target`, or their first tokens came later than
/// that after their arrival, and later than twice its calmest of late, on weighted average (an eighth for the newest);
/// the average lets the cap fall only when there was a first token since its last change. When nothing of them runs or
/// waits, or has been seen for 10 windows or ever, the average is forgotten, and the cap doubles instead of rising by
/// one.
///
/// With a `pause` the cap may fall to zero, but not for longer than that since the trouble began; it is `minimum` again
/// then, until there has been no trouble for as long.
///
/// An instant earlier than a former one counts as the former one. All: O(1).
class elastic_cap {
 public:
  static constexpr int quiet_windows = 10;

  /// Puts `rules` in force for a class that may hold `ceiling` slots in any case. What is known stays, within the new
  /// bounds. When it is off, the cap is `ceiling`.
  void configure(const elastic_policy& rules, std::int64_t ceiling) noexcept;

  [[nodiscard]] bool enabled() const noexcept { return rules_.enabled; }
  [[nodiscard]] std::int64_t cap() const noexcept { return cap_; }
  /// Why it changed last: `pressure`, `probe` (by one), `slow_start` (doubled), `reconfigured`.
  [[nodiscard]] limit_change reason() const noexcept { return reason_; }

  /// Work of a class above got its first token, so long after it arrived.
  void observe_first_token(duration since_arrival, instant now) noexcept;

  /// Moves the cap if it is time to. `oldest_wait_above`: how long the oldest waiter of the classes above has waited;
  /// negative: none waits. `cap_is_binding`: the class has a waiter that would fit but for the cap. `above_runs`:
  /// whether anything of the classes above runs. Whether the cap changed.
  bool update(duration oldest_wait_above, bool cap_is_binding, instant now, bool above_runs = true) noexcept;

  /// Whether `update` might lower the cap now though nothing waits above.
  [[nodiscard]] bool may_fall(instant now) const noexcept {
    const bool first_sight = !seen_ && last_seen_ != instant::min();
    return rules_.enabled && (first_sight || (fresh_ && after(last_change_, rules_.window) <= now));
  }

  /// The earliest instant at which `update` may change something; `never` when it is off. Worth waking up for only
  /// while this class or one above has a waiter.
  [[nodiscard]] instant next_update() const noexcept;

 private:
  void note_suffering(bool suffers) noexcept;
  /// Where the cap cannot fall below now.
  [[nodiscard]] std::int64_t lowest() const noexcept;
  [[nodiscard]] std::int64_t bounded(std::int64_t wished) const noexcept;
  bool move(std::int64_t wished, limit_change why) noexcept;

  elastic_policy rules_{};
  std::int64_t ceiling_ = -1;
  std::int64_t cap_ = 0;
  limit_change reason_ = limit_change::none;
  instant now_ = instant::min();
  instant last_change_ = instant::min();
  /// When something of the classes above was last seen.
  instant last_seen_ = instant::min();
  /// Average time to first token above, in nanoseconds; negative: not known.
  double to_first_token_ = -1;
  /// The least that this average has been of late.
  double calm_ = -1;
  bool fresh_ = false;
  /// Whether anything of the classes above was ever seen.
  bool seen_ = false;
  /// Since when the classes above have suffered, with breaks shorter than `pause`; and when they last did.
  instant suffers_since_ = never;
  instant last_suffered_ = instant::min();
};

}  // namespace sluice::core
