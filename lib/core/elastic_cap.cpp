#include "core/elastic_cap.hpp"

#include <algorithm>

namespace sluice::core {
namespace {

constexpr double calm_creep = 1.0 / 512;

}  // namespace

void elastic_cap::configure(const elastic_policy& rules, std::int64_t ceiling) noexcept {
  const bool first = ceiling_ < 0;
  const bool goes_on = !first && rules.enabled && rules_.enabled;
  const std::int64_t before = cap_;
  if (!goes_on) *this = {};
  rules_ = rules;
  ceiling_ = ceiling;
  cap_ = rules.enabled ? bounded(goes_on ? cap_ : ceiling) : ceiling;
  if (!first && cap_ != before) reason_ = limit_change::reconfigured;
}

void elastic_cap::observe_first_token(duration since_arrival, instant now) noexcept {
  if (!rules_.enabled) return;
  now_ = std::max(now_, now);
  last_seen_ = now_;
  const auto taken = static_cast<double>(std::max(since_arrival, duration::zero()).count());
  to_first_token_ = to_first_token_ < 0 ? taken : to_first_token_ + (taken - to_first_token_) / 8;
  fresh_ = true;
  // The calmest of late: it creeps up, so that a provider that has become slower for good is calm again some day.
  calm_ = calm_ < 0 ? to_first_token_ : std::min(to_first_token_, calm_ * (1 + calm_creep));
}

bool elastic_cap::update(duration oldest_wait_above, bool cap_is_binding, instant now, bool above_runs) noexcept {
  if (!rules_.enabled) return false;
  now_ = std::max(now_, now);
  if (oldest_wait_above >= duration::zero()) last_seen_ = now_;
  const bool nobody = !above_runs && oldest_wait_above < duration::zero();
  const bool quiet = nobody || last_seen_ == instant::min() || (now_ - last_seen_) / quiet_windows >= rules_.window;
  if (quiet) to_first_token_ = -1;
  const bool late = to_first_token_ > std::max(static_cast<double>(rules_.target.count()), 2 * calm_);
  note_suffering(late || oldest_wait_above > rules_.target);
  // Somebody is there to be hurt, for the first time: from now on it is asked before more is taken.
  if (!seen_ && last_seen_ != instant::min()) {
    seen_ = true;
    if (cap_ > rules_.minimum) {
      last_change_ = now_;
      return move(rules_.minimum, limit_change::pressure);
    }
  }
  // Nobody is there for whom to keep still.
  if (quiet && cap_ < rules_.minimum) return move(rules_.minimum, limit_change::probe);
  // The pause is over: what the class is sure of comes back whatever happens above.
  if (cap_ < lowest()) return move(lowest(), limit_change::probe);
  if (last_change_ != instant::min() && now_ - last_change_ < rules_.window) return false;

  if (oldest_wait_above > rules_.target || (late && fresh_)) {
    fresh_ = false;
    // Also when there is nothing left to give: a rise waits for a window without trouble.
    last_change_ = now_;
    // Rounded down, so that it is at least one less.
    return move(static_cast<std::int64_t>(static_cast<double>(cap_) * rules_.backoff), limit_change::pressure);
  }
  if (late || !cap_is_binding || cap_ >= ceiling_) return false;
  last_change_ = now_;
  if (quiet && cap_ > 0) return move(cap_ > ceiling_ / 2 ? ceiling_ : 2 * cap_, limit_change::slow_start);
  return move(cap_ + 1, limit_change::probe);
}

instant elastic_cap::next_update() const noexcept {
  if (!rules_.enabled) return never;
  // While it is paused, that nobody is left above is to be noticed at once.
  if (last_change_ == instant::min() || cap_ < rules_.minimum) return now_;
  return after(last_change_, rules_.window);
}

void elastic_cap::note_suffering(bool suffers) noexcept {
  if (suffers) {
    suffers_since_ = std::min(suffers_since_, now_);
    last_suffered_ = now_;
  } else if (suffers_since_ != never && now_ - last_suffered_ >= rules_.pause) {
    suffers_since_ = never;
  }
}

std::int64_t elastic_cap::lowest() const noexcept {
  const bool paused =
      rules_.pause > duration::zero() && (suffers_since_ == never || now_ - suffers_since_ < rules_.pause);
  return std::min(paused ? std::int64_t{0} : rules_.minimum, ceiling_);
}

std::int64_t elastic_cap::bounded(std::int64_t wished) const noexcept {
  return std::min(std::max(wished, lowest()), ceiling_);
}

bool elastic_cap::move(std::int64_t wished, limit_change why) noexcept {
  const std::int64_t before = cap_;
  cap_ = bounded(wished);
  if (cap_ == before) return false;
  reason_ = why;
  return true;
}

}  // namespace sluice::core
