/// \file
/// `rate_cell`: one rate held exactly, by GCRA in integers. `rate_cells`: the three rates of one sender together.
#pragma once

#include "core/wide.hpp"

#include <sluice/core/rate.hpp>
#include <sluice/core/time.hpp>

#include <cstdint>

namespace sluice::core {

/// One rate. What is owed drains by `per_minute` a minute, and a charge conforms when it and what is owed are within
/// the burst. Reckoned in parts of a nanosecond, `per_minute` to one, so that a unit is 60 * 10^9 parts at any rate and
/// nothing is ever rounded. Charging does not divide.
///
/// Preconditions: amounts are not negative, and no instant is earlier than a former one; `rate_cells` sees to that.
/// Everything is O(1).
class rate_cell {
 public:
  /// What is owed stays owed, in units, whatever the new rate; without a limit nothing is.
  void configure(const rate& limit, instant now) noexcept;

  [[nodiscard]] bool limited() const noexcept { return per_minute_ != unlimited; }
  /// The most that can be sent at once.
  [[nodiscard]] std::int64_t burst() const noexcept { return burst_; }
  /// Whether so much could be sent at any time.
  [[nodiscard]] bool possible(std::int64_t amount) const noexcept { return amount <= burst_; }

  /// Whether so much may be sent now. While more is owed than the burst, not even nothing may.
  [[nodiscard]] bool conforms(std::int64_t amount, instant now) const noexcept {
    return !limited() || owing(now) <= wide{burst_ - amount} * unit;
  }

  /// When so much may be sent, to the nanosecond, if nothing else is; `now` when it may now, `never` when it never may.
  [[nodiscard]] instant earliest(std::int64_t amount, instant now) const noexcept;

  /// Charges so much, whether it conforms or not. What is owed in all stops at 2,345 times the greatest amount.
  void take(std::int64_t amount, instant now) noexcept {
    if (!limited()) return;
    const wide owed = owing(now) + wide{amount} * unit;
    rest_ = parts(now) + (owed < most_owed ? owed : most_owed);
  }

  /// Charges what turned out later to have been used beyond what was charged: one burst at most, since a wrong number
  /// is not to leave a debt for ages.
  void take_late(std::int64_t amount, instant now) noexcept { take(amount < burst_ ? amount : burst_, now); }

  /// From now on no more than so much is there, and no debt is left. Whether that is less than there was.
  bool leave(std::int64_t amount, instant now) noexcept;

  /// Gives back so much of what was charged; what has drained since cannot be given back a second time.
  void refund(std::int64_t amount, instant now) noexcept {
    if (!limited()) return;
    rest_ = parts(now) + owing(now) - wide{amount} * unit;
  }

  /// How much may be sent now, in whole units: at most the burst, negative while more is owed than that.
  [[nodiscard]] std::int64_t available(instant now) const noexcept;

  /// Whether nothing is owed, so that a new cell would be the same.
  [[nodiscard]] bool idle(instant now) const noexcept { return !limited() || rest_ <= parts(now); }

 private:
  /// Parts that one unit is, at any rate: the nanoseconds of a minute.
  static constexpr std::int64_t unit = 60'000'000'000;
  /// Beyond all bursts (2^99 parts), and small enough that no sum with an instant overflows.
  static constexpr wide most_owed = wide{1} << 110;

  [[nodiscard]] wide parts(instant at) const noexcept { return wide{at.time_since_epoch().count()} * per_minute_; }
  [[nodiscard]] wide owing(instant now) const noexcept {
    const wide owed = rest_ - parts(now);
    return owed > 0 ? owed : 0;
  }

  /// When all that is owed will have drained, in parts: the theoretical arrival time. Past when nothing is.
  wide rest_ = 0;
  std::int64_t per_minute_ = unlimited;
  std::int64_t burst_ = unlimited;
};
static_assert(sizeof(rate_cell) == 32);

/// One of the three rates, or none of them. What the provider says may also be about input and output together.
enum class rate_axis : std::uint8_t {
  none,
  requests,
  input,
  output,
  tokens,
};

/// What a request is charged on the three axes.
struct rate_charge {
  std::int64_t requests = 0;
  std::int64_t input = 0;
  std::int64_t output = 0;
};

/// The rates of a provider or of one tenant: a charge goes to all three or, when one does not let it through, to none.
/// An instant earlier than the latest one with which something was configured, charged or refunded counts as that one,
/// so a clock that jumps back opens nothing. Precondition of all: no amount is negative. All O(1), nothing allocated.
class rate_cells {
 public:
  /// Puts limits in force, each at least 1 a minute. What is owed stays owed, but on an axis without a limit.
  void configure(const rate_limits& limits, instant now) noexcept;

  /// Whether there is a limit on any axis. Without one all the rest does nothing, and instants do not matter.
  [[nodiscard]] bool limited() const noexcept { return limited_; }

  /// The first axis whose burst is smaller than its part of the charge, which can therefore never be sent.
  [[nodiscard]] rate_axis possible(const rate_charge& asked) const noexcept {
    if (!requests_.possible(asked.requests)) return rate_axis::requests;
    if (!input_.possible(asked.input)) return rate_axis::input;
    return output_.possible(asked.output) ? rate_axis::none : rate_axis::output;
  }

  /// The first axis that does not let the charge through now.
  [[nodiscard]] rate_axis first_short(const rate_charge& asked, instant now) const noexcept {
    if (!limited_) return rate_axis::none;
    now = not_before_latest(now);
    if (!requests_.conforms(asked.requests, now)) return rate_axis::requests;
    if (!input_.conforms(asked.input, now)) return rate_axis::input;
    return output_.conforms(asked.output, now) ? rate_axis::none : rate_axis::output;
  }

  /// The first instant, `now` or later, at which all axes let the charge through if nothing else is charged; exact to
  /// the nanosecond. `never` when it is not possible.
  [[nodiscard]] instant earliest(const rate_charge& asked, instant now) const noexcept;

  /// Charges all axes. What does not conform is charged all the same and becomes a debt: for output beyond what was
  /// reserved, and for work that is only observed.
  void take(const rate_charge& asked, instant now) noexcept {
    if (!limited_) return;
    latest_ = now = not_before_latest(now);
    requests_.take(asked.requests, now);
    input_.take(asked.input, now);
    output_.take(asked.output, now);
  }

  /// Charges what was used beyond what had been charged: on each axis one burst at most.
  void take_late(const rate_charge& more, instant now) noexcept {
    if (!limited_) return;
    latest_ = now = not_before_latest(now);
    requests_.take_late(more.requests, now);
    input_.take_late(more.input, now);
    output_.take_late(more.output, now);
  }

  /// Gives back what was charged and not used; no axis ever has more than its burst.
  void refund(const rate_charge& unused, instant now) noexcept {
    if (!limited_) return;
    latest_ = now = not_before_latest(now);
    requests_.refund(unused.requests, now);
    input_.refund(unused.input, now);
    output_.refund(unused.output, now);
  }

  /// Whether nothing is owed on any axis: this could be forgotten and made anew.
  [[nodiscard]] bool idle(instant now) const noexcept {
    now = not_before_latest(now);
    return requests_.idle(now) && input_.idle(now) && output_.idle(now);
  }

  /// The most that an axis lets through at once, and how much of it is there now in whole units (negative in debt);
  /// `unlimited` without a limit. Precondition: `which` is one of the three.
  [[nodiscard]] std::int64_t burst(rate_axis which) const noexcept { return cell(which).burst(); }
  [[nodiscard]] std::int64_t available(rate_axis which, instant now) const noexcept {
    return cell(which).available(not_before_latest(now));
  }

 private:
  [[nodiscard]] instant not_before_latest(instant now) const noexcept { return now > latest_ ? now : latest_; }
  [[nodiscard]] const rate_cell& cell(rate_axis which) const noexcept {
    if (which == rate_axis::requests) return requests_;
    return which == rate_axis::input ? input_ : output_;
  }

  rate_cell requests_;
  rate_cell input_;
  rate_cell output_;
  instant latest_ = instant::min();
  bool limited_ = false;
};

}  // namespace sluice::core
