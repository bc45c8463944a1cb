/// \file
/// Rates as leaking buckets: what is owed, and how it drains.
#pragma once

#include "core/rate_cell.hpp"
#include "core/wide.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace sluice::core::testing {

/// One bucket. Amounts are fractions with the nanoseconds of a minute as denominator, so that nothing is rounded.
class plain_rate {
 public:
  void configure(const rate& limit, instant now) {
    const wide owed = per_minute_ == unlimited ? 0 : owing(now);
    per_minute_ = limit.per_minute;
    burst_ = limit.per_minute == unlimited ? unlimited : limit.burst == 0 ? limit.per_minute : limit.burst;
    set(per_minute_ == unlimited ? 0 : owed, now);
  }

  [[nodiscard]] bool limited() const { return per_minute_ != unlimited; }
  [[nodiscard]] bool possible(std::int64_t amount) const { return amount <= burst_; }
  [[nodiscard]] bool idle(instant now) const { return !limited() || owing(now) == 0; }

  [[nodiscard]] bool lets_through(std::int64_t amount, instant now) const {
    return !limited() || owing(now) + wide{amount} * minute <= wide{burst_} * minute;
  }

  /// The first instant at which it lets so much through.
  [[nodiscard]] instant earliest(std::int64_t amount, instant now) const {
    if (lets_through(amount, now)) return now;
    if (!possible(amount)) return never;
    const wide excess = owing(now) + wide{amount} * minute - wide{burst_} * minute;
    const instant found = now + duration(static_cast<std::int64_t>((excess + per_minute_ - 1) / per_minute_));
    if (!lets_through(amount, found) || lets_through(amount, found - duration(1))) throw std::logic_error("earliest");
    return found;
  }

  /// The most that it lets through now; negative while more is owed than the burst.
  [[nodiscard]] std::int64_t available(instant now) const {
    if (!limited()) return unlimited;
    return static_cast<std::int64_t>(wide{burst_} - (owing(now) + minute - 1) / minute);
  }

  [[nodiscard]] wide owing(instant now) const {
    return std::max<wide>(0, owed_ - wide{(now - at_).count()} * per_minute_);
  }

  [[nodiscard]] std::int64_t burst() const { return burst_; }
  void owe(wide owed, instant now) { set(owed, now); }

  void charge(std::int64_t amount, instant now) {
    if (limited()) set(std::max<wide>(0, owing(now) + wide{amount} * minute), now);
  }

 private:
  static constexpr std::int64_t minute = 60'000'000'000;

  void set(wide owed, instant now) {
    owed_ = owed;
    at_ = now;
  }

  wide owed_ = 0;
  instant at_{};
  std::int64_t per_minute_ = unlimited;
  std::int64_t burst_ = unlimited;
};

/// The three rates of a sender.
class plain_rates {
 public:
  using amounts = std::array<std::int64_t, 3>;

  void configure(const rate_limits& limits, instant now) {
    all_[0].configure(limits.requests, now);
    all_[1].configure(limits.input_tokens, now);
    all_[2].configure(limits.output_tokens, now);
  }

  /// The first axis that could never let it through, and that does not now.
  [[nodiscard]] rate_axis impossible(const amounts& asked) const {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!all_[axis].possible(asked[axis])) return static_cast<rate_axis>(axis + 1);
    }
    return rate_axis::none;
  }
  [[nodiscard]] rate_axis first_short(const amounts& asked, instant now) const {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!all_[axis].lets_through(asked[axis], now)) return static_cast<rate_axis>(axis + 1);
    }
    return rate_axis::none;
  }
  [[nodiscard]] instant earliest(const amounts& asked, instant now) const {
    instant when = now;
    for (std::size_t axis = 0; axis < 3; ++axis) when = std::max(when, all_[axis].earliest(asked[axis], now));
    return when;
  }
  [[nodiscard]] std::int64_t available(rate_axis axis, instant now) const {
    return all_[static_cast<std::size_t>(axis) - 1].available(now);
  }
  /// Negative amounts are given back.
  void charge(const amounts& what, instant now) {
    for (std::size_t axis = 0; axis < 3; ++axis) all_[axis].charge(what[axis], now);
  }
  /// What turned out later: at most one burst more.
  void correct(const amounts& change, instant now) {
    for (std::size_t axis = 0; axis < 3; ++axis) all_[axis].charge(std::min(change[axis], all_[axis].burst()), now);
  }
  /// What is owed in all, in parts of a unit.
  [[nodiscard]] wide owing(instant now) const { return all_[0].owing(now) + all_[1].owing(now) + all_[2].owing(now); }
  [[nodiscard]] bool idle(instant now) const {
    return std::all_of(all_.begin(), all_.end(), [now](const plain_rate& one) { return one.idle(now); });
  }

 private:
  std::array<plain_rate, 3> all_;
};

}  // namespace sluice::core::testing
