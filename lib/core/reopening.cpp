#include "core/reopening.hpp"

#include "core/wide.hpp"

#include <algorithm>

namespace sluice::core {

bool reopening::pause(instant until, instant now, std::int64_t slots) noexcept {
  if (until <= now) {
    const bool was = active_;
    active_ = false;
    return was;
  }
  if (paused(now)) {
    if (until <= paused_until_) return false;
  } else {
    begun_ = now;
  }
  const double part = static_cast<double>((until - begun_).count()) * rules_.share;
  const bool beyond = part >= static_cast<double>(rules_.most.count());
  const duration spread = beyond ? rules_.most : std::max(rules_.least, duration(static_cast<std::int64_t>(part)));
  const duration step = std::max(rules_.step, spread / std::max<std::int64_t>(1, slots));
  const bool goes_on = active_ && ends_ > until;
  least_step_ = goes_on ? std::max(least_step_, rules_.step) : rules_.step;
  step_ = goes_on ? std::max(step, step_) : step;
  ends_ = goes_on ? std::max(ends_, after(until, spread)) : after(until, spread);
  opens_at_ = goes_on ? std::max(opens_at_, until) : until;
  paused_until_ = until;
  active_ = true;
  return true;
}

void reopening::started(instant now) noexcept {
  const instant soonest = after(now, least_step_);
  opens_at_ = past_spread(now) ? soonest : std::min(after(now, step_), std::max(ends_, soonest));
}

instant reopening::opens_after(std::size_t others) const noexcept {
  const auto times = [others](duration length) {
    const wide all = wide{length.count()} * static_cast<wide>(others);
    return duration(static_cast<std::int64_t>(std::min<wide>(all, duration::max().count())));
  };
  return std::max(after(opens_at_, times(least_step_)), std::min(after(opens_at_, times(step_)), ends_));
}

}  // namespace sluice::core
