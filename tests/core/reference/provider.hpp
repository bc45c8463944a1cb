/// \file
/// What the provider asks for and says: pauses with the opening after them, and its limits.
#pragma once

#include "core/reference/rates.hpp"

#include <sluice/core/policy.hpp>
#include <sluice/core/provider_limits.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::core::testing {

/// A pause, and what comes after it.
struct plain_pause {
  bool in_force = false;
  instant begun{};
  instant until{};
  /// The next start, the end of the spread, and the least time between two starts before that, and after.
  instant next_start{};
  instant spread_end{};
  duration spacing{};
  duration spacing_after{};

  /// False when nothing changes.
  bool ask(instant end, instant now, const policy& rules) {
    const reopening_policy& how = rules.reopening;
    if (end <= now) return std::exchange(in_force, false);
    const bool longer = in_force && now < until;
    if (longer && end <= until) return false;
    if (!longer) begun = now;
    const auto share = duration(static_cast<std::int64_t>(static_cast<double>((end - begun).count()) * how.share));
    const duration spread = std::clamp(share, how.least, how.most);
    const duration step = std::max(how.step, spread / std::max<std::int64_t>(1, rules.total.slots));
    if (in_force && spread_end > end) {
      spacing = std::max(spacing, step);
      spacing_after = std::max(spacing_after, how.step);
      spread_end = std::max(spread_end, end + spread);
      next_start = std::max(next_start, end);
    } else {
      spacing = step;
      spacing_after = how.step;
      spread_end = end + spread;
      next_start = end;
    }
    until = end;
    in_force = true;
    return true;
  }

  [[nodiscard]] bool closed(instant now) const { return in_force && now < next_start; }
  /// Nobody is left who waits for nothing else.
  void nobody_left(instant now) {
    if (in_force && !closed(now) && now >= spread_end) in_force = false;
  }
  void started(instant now) {
    if (!in_force) return;
    next_start = now + spacing_after;
    if (now < spread_end) next_start = std::max(next_start, std::min(now + spacing, spread_end));
  }
};

/// What the provider said about one axis.
class plain_report {
 public:
  void hear(const provider_limit& said, const rate& own, instant now) {
    if (said.remaining == unlimited) return;
    const std::int64_t remaining = std::max<std::int64_t>(0, said.remaining);
    const bool limit = said.per_minute > 0 && said.per_minute != unlimited;
    if (limit || said.reset < duration::zero()) {
      if (!limit && !known(now) && own.per_minute == unlimited) return;
      if (!known(now)) rate_ = plain_rate{};
      if (limit) {
        rate_.configure({said.per_minute, said.per_minute}, now);
      } else if (!known(now)) {
        rate_.configure(own, now);
      }
      // No more is there than was said, and no less than nothing.
      const std::int64_t most = std::min(remaining, rate_.burst());
      const wide minute = 60'000'000'000;
      if (rate_.owing(now) < (wide{rate_.burst()} - most) * minute) {
        lowered_ = now;
        rate_.owe((wide{rate_.burst()} - most) * minute, now);
      }
      rate_.owe(std::min(rate_.owing(now), wide{rate_.burst()} * minute), now);
      heard_ = now;
    } else if (now < meter_end_) {
      if (remaining < left_) lowered_ = now;
      left_ = std::min(left_, remaining);
      meter_end_ = std::min(meter_end_, now + std::min(said.reset, memory));
    } else {
      left_ = whole_ = remaining;
      lowered_ = now;
      meter_end_ = now + std::min(said.reset, memory);
    }
  }

  [[nodiscard]] bool lets_through(std::int64_t amount, instant now) const {
    const bool by_rate = !known(now) || rate_.lets_through(std::min(amount, rate_.burst()), now);
    return by_rate && (now >= meter_end_ || amount <= left_);
  }
  [[nodiscard]] instant earliest(std::int64_t amount, instant now) const {
    instant when = now;
    if (known(now)) when = std::min(rate_.earliest(std::min(amount, rate_.burst()), now), *heard_ + memory);
    if (now < meter_end_ && amount > left_) when = std::max(when, meter_end_);
    return when;
  }
  [[nodiscard]] std::int64_t available(instant now) const {
    const std::int64_t by_rate = known(now) ? rate_.available(now) : unlimited;
    return now < meter_end_ ? std::min(by_rate, left_) : by_rate;
  }
  void charge(std::int64_t amount, instant now) {
    if (known(now)) rate_.charge(std::min(amount, rate_.burst()), now);
    if (now < meter_end_) left_ = std::max<std::int64_t>(0, left_ - amount);
  }
  /// What had started when the provider's figure last was the lower one gets back nothing: it is in that figure.
  void correct(std::int64_t reserved, std::int64_t used, instant since, instant now) {
    const bool gives_back = !lowered_ || since >= *lowered_;
    if (known(now)) {
      const std::int64_t change = used - std::min(reserved, rate_.burst());
      if (change > 0 || gives_back) rate_.charge(std::min(change, rate_.burst()), now);
    }
    if (now < meter_end_ && (used > reserved || gives_back))
      left_ = std::clamp<std::int64_t>(left_ + reserved - used, 0, used < reserved ? whole_ : left_);
  }
  [[nodiscard]] wide state(instant now) const {
    if (now >= meter_end_) return known(now) ? rate_.owing(now) + 1 : 0;
    const wide meter = (wide{left_} * 1'009 + (meter_end_ - now).count()) * 1'009 + (now - *lowered_).count();
    return (known(now) ? rate_.owing(now) + 1 : 0) * 64 + meter + 1;
  }

 private:
  static constexpr duration memory = std::chrono::minutes(10);
  [[nodiscard]] bool known(instant now) const { return heard_ && now < *heard_ + memory; }

  plain_rate rate_;
  std::optional<instant> heard_;
  std::int64_t left_ = 0;
  std::int64_t whole_ = 0;
  instant meter_end_ = instant::min();
  std::optional<instant> lowered_;
};

/// All four.
class plain_reports {
 public:
  using amounts = std::array<std::int64_t, 4>;
  void hear(const provider_limits& said, const rate_limits& own, instant now) {
    all_[0].hear(said.requests, own.requests, now);
    all_[1].hear(said.input_tokens, own.input_tokens, now);
    all_[2].hear(said.output_tokens, own.output_tokens, now);
    all_[3].hear(said.tokens, {}, now);
  }
  [[nodiscard]] rate_axis first_short(const plain_rates::amounts& asked, instant now) const {
    for (std::size_t axis = 0; axis < 4; ++axis) {
      if (!all_[axis].lets_through(part(asked, axis), now)) return static_cast<rate_axis>(axis + 1);
    }
    return rate_axis::none;
  }
  [[nodiscard]] instant earliest(const plain_rates::amounts& asked, instant now) const {
    instant when = now;
    for (std::size_t axis = 0; axis < 4; ++axis) when = std::max(when, all_[axis].earliest(part(asked, axis), now));
    return when;
  }
  [[nodiscard]] std::int64_t available(rate_axis axis, instant now) const {
    return all_[static_cast<std::size_t>(axis) - 1].available(now);
  }
  void charge(const plain_rates::amounts& what, instant now) {
    for (std::size_t axis = 0; axis < 4; ++axis) all_[axis].charge(part(what, axis), now);
  }
  void correct(const plain_rates::amounts& reserved, const plain_rates::amounts& used, instant since, instant now) {
    for (std::size_t axis = 1; axis < 4; ++axis) all_[axis].correct(part(reserved, axis), part(used, axis), since, now);
  }
  [[nodiscard]] wide state(instant now) const {
    wide sum = 0;
    for (const plain_report& one : all_) sum = sum * 1'000'003 + one.state(now);
    return sum;
  }

 private:
  [[nodiscard]] static std::int64_t part(const plain_rates::amounts& of, std::size_t axis) {
    return axis < 3 ? of[axis] : of[1] + of[2];
  }
  std::array<plain_report, 4> all_;
};

}  // namespace sluice::core::testing
