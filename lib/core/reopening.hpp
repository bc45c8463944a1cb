/// \file
/// A pause that the provider asked for, and how the gate opens again after it.
#pragma once

#include <sluice/core/reopening.hpp>
#include <sluice/core/time.hpp>

#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// `reopening_policy` has the rule. Precondition: no instant is earlier than a former one. All: O(1).
class reopening {
 public:
  /// For pauses to come; one in force, and what follows it, keep their lengths.
  void configure(const reopening_policy& rules) noexcept { rules_ = rules; }

  /// Nothing starts before `until`; one that has ended already lifts the pause and what follows it. Whether anything
  /// changed: a shorter one than one in force changes nothing. A longer one counts from the beginning of the one in
  /// force, and what is left of a former opening goes on after it.
  bool pause(instant until, instant now, std::int64_t slots) noexcept;

  /// Whether starts matter here: during a pause, and until what follows it is over.
  [[nodiscard]] bool active() const noexcept { return active_; }
  [[nodiscard]] bool paused(instant now) const noexcept { return active_ && now < paused_until_; }
  /// Whether nothing may start now, and when something may.
  [[nodiscard]] bool closed(instant now) const noexcept { return active_ && now < opens_at_; }
  [[nodiscard]] instant opens_at() const noexcept { return opens_at_; }
  /// Whether only those are still held up who wait already.
  [[nodiscard]] bool past_spread(instant now) const noexcept { return now >= ends_; }
  /// When a start may come that has so many others before it, if nothing else is in the way.
  [[nodiscard]] instant opens_after(std::size_t others) const noexcept;

  /// Something has started.
  void started(instant now) noexcept;
  /// Nobody is left who waits for nothing else.
  void rest(instant now) noexcept {
    if (past_spread(now)) active_ = false;
  }

 private:
  reopening_policy rules_{};
  bool active_ = false;
  instant begun_{};
  instant paused_until_{};
  instant opens_at_{};
  /// The end of the spread, and the least time between two starts before that, and after.
  instant ends_{};
  duration step_{};
  duration least_step_{};
};

}  // namespace sluice::core
