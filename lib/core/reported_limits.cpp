#include "core/reported_limits.hpp"

#include <algorithm>

namespace sluice::core {

bool reported_limits::axis::lets_through(std::int64_t amount, instant now) const noexcept {
  if (metered(now) && amount > left) return false;
  return !held(now) || cell.conforms(std::min(amount, cell.burst()), now);
}

instant reported_limits::axis::earliest(std::int64_t amount, instant now) const noexcept {
  instant when = now;
  if (held(now)) when = std::min(cell.earliest(std::min(amount, cell.burst()), now), forgotten());
  return metered(now) && amount > left ? std::max(when, until) : when;
}

std::int64_t reported_limits::axis::available(instant now) const noexcept {
  const std::int64_t of_cell = held(now) ? cell.available(now) : unlimited;
  return metered(now) ? std::min(of_cell, left) : of_cell;
}

void reported_limits::axis::report(const provider_limit& said_now, const rate& own, instant now) noexcept {
  if (said_now.remaining == unlimited) return;
  const std::int64_t remaining = std::max<std::int64_t>(0, said_now.remaining);
  const bool limit_said = said_now.per_minute >= 1 && said_now.per_minute != unlimited;
  if (!limit_said && said_now.reset >= duration::zero()) {
    const instant end = after(now, std::min(said_now.reset, memory));
    if (!metered(now)) {
      left = said = remaining;
      told = now;
      until = end;
      return;
    }
    if (remaining < left) told = now;
    left = std::min(left, remaining);
    until = std::min(until, end);
    return;
  }
  const bool known = held(now);
  if (!limit_said && !known && own.per_minute == unlimited) return;
  if (!known) cell = rate_cell{};
  if (limit_said) cell.configure({said_now.per_minute, said_now.per_minute}, now);
  if (!limit_said && !known) cell.configure(own, now);
  if (cell.leave(remaining, now)) told = now;
  confirmed = now;
}

void reported_limits::axis::take(std::int64_t amount, instant now) noexcept {
  if (held(now)) cell.take(std::min(amount, cell.burst()), now);
  if (metered(now)) left = std::max<std::int64_t>(0, left - amount);
}

void reported_limits::axis::correct(std::int64_t reserved, std::int64_t used, instant since, instant now) noexcept {
  const bool counted_there = since < told;
  if (held(now)) {
    const std::int64_t charged = std::min(reserved, cell.burst());
    if (used > charged) cell.take_late(used - charged, now);
    if (used < charged && !counted_there) cell.refund(charged - used, now);
  }
  if (!metered(now)) return;
  if (used > reserved) left = std::max<std::int64_t>(0, left - (used - reserved));
  if (used < reserved && !counted_there) left = std::min(said, left + (reserved - used));
}

void reported_limits::report(const provider_limits& said, instant now) noexcept {
  const std::array<const provider_limit*, 4> all{&said.requests, &said.input_tokens, &said.output_tokens, &said.tokens};
  any_ = false;
  for (std::size_t n = 0; n < axes_.size(); ++n) {
    axes_[n].report(*all[n], own_[n], now);
    any_ = any_ || axes_[n].held(now) || axes_[n].metered(now);
  }
}

rate_axis reported_limits::first_short(const rate_charge& asked, instant now) const noexcept {
  if (!any_) return rate_axis::none;
  const amounts charge = amounts_of(asked);
  for (std::size_t n = 0; n < axes_.size(); ++n) {
    if (!axes_[n].lets_through(charge[n], now)) return static_cast<rate_axis>(n + 1);
  }
  return rate_axis::none;
}

instant reported_limits::earliest(const rate_charge& asked, instant now) const noexcept {
  instant when = now;
  if (!any_) return when;
  const amounts charge = amounts_of(asked);
  for (std::size_t n = 0; n < axes_.size(); ++n) when = std::max(when, axes_[n].earliest(charge[n], now));
  return when;
}

void reported_limits::take(const rate_charge& asked, instant now) noexcept {
  if (!any_) return;
  const amounts charge = amounts_of(asked);
  bool any = false;
  for (std::size_t n = 0; n < axes_.size(); ++n) {
    axes_[n].take(charge[n], now);
    any = any || axes_[n].held(now) || axes_[n].metered(now);
  }
  any_ = any;
}

void reported_limits::correct(const rate_charge& reserved, const rate_charge& used, instant since,
                              instant now) noexcept {
  if (!any_) return;
  const amounts before = amounts_of(reserved);
  const amounts then = amounts_of(used);
  for (std::size_t n = 1; n < axes_.size(); ++n) axes_[n].correct(before[n], then[n], since, now);
}

std::int64_t reported_limits::available(rate_axis which, instant now) const noexcept {
  return any_ ? at(which).available(now) : unlimited;
}

std::int64_t reported_limits::limit(rate_axis which, instant now) const noexcept {
  const axis& one = at(which);
  const bool by_meter = one.metered(now) && (!one.held(now) || one.left < one.cell.available(now));
  if (by_meter) return one.said;
  return one.held(now) ? one.cell.burst() : unlimited;
}

}  // namespace sluice::core
