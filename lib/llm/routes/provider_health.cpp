#include "llm/routes/provider_health.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::llm::detail {

evidence evidence_of(const failure& why, duration worked, const health_policy& rules) noexcept {
  if (why.code().category() != error_category()) return evidence::none;
  switch (static_cast<errc>(why.code().value())) {
    case errc::host_not_found:
    case errc::connect_failed:
    case errc::connect_timeout:
    case errc::tls_failed:
    case errc::first_byte_timeout:
    case errc::idle_timeout:
    case errc::total_timeout:
    case errc::connection_lost:
    case errc::protocol_error:
    case errc::rate_limited:
    case errc::overloaded:
    case errc::provider_failed: return evidence::fails;
    case errc::unauthorized:
    case errc::quota_exhausted: return evidence::refuses_all;
    case errc::provider_refused:
    case errc::content_filtered:
    case errc::context_too_long:
    case errc::too_large: return evidence::answers;
    case errc::deadline_exceeded: {
      const bool was_with_it = why.phase == call_phase::sent || why.phase == call_phase::answering;
      return was_with_it && worked >= rules.least_patience ? evidence::fails : evidence::none;
    }
    case errc::ok:
    case errc::invalid_configuration:
    case errc::stale_revision:
    case errc::refused:
    case errc::preempted:
    case errc::invalid_argument:
    case errc::cancelled: break;
  }
  return evidence::none;
}

bool provider_health::available(instant now) const noexcept {
  return now >= rests_until_ && !(on_trial_ && trial_runs_);
}

provider_state provider_health::state(instant now) const noexcept {
  if (now < rests_until_) return provider_state::open;
  return on_trial_ ? provider_state::half_open : provider_state::closed;
}

visit provider_health::begin(instant now) noexcept {
  const bool trial = on_trial_ && available(now);
  trial_runs_ = trial_runs_ || trial;
  return {now, trial};
}

bool provider_health::saw(const visit& of, evidence what, instant now, double draw, duration asked_for) noexcept {
  if (of.trial) trial_runs_ = false;
  if (what == evidence::none) return false;
  const bool failed = what != evidence::answers;
  count(failed, now);
  if (!failed) {
    in_a_row_ = 0;
    // An answer to a call from before the rest says nothing about what comes after it.
    if (!on_trial_ || of.begun < rested_at_) return false;
    seen_ = {};
    on_trial_ = false;
    rests_in_a_row_ = 0;
    rests_until_ = now;
    return false;
  }
  ++in_a_row_;
  if (on_trial_ && !of.trial) {
    // Calls that were under way when it was sent to rest, or that had nowhere else to go, must not lengthen it.
    if (asked_for > duration::zero()) rests_until_ = std::max(rests_until_, after(now, asked_for));
    return false;
  }
  if (on_trial_ || what == evidence::refuses_all || in_a_row_ >= rules_.failures || too_many(now)) {
    rest(now, draw, asked_for);
    return true;
  }
  if (asked_for > duration::zero()) rests_until_ = std::max(rests_until_, after(now, asked_for));
  return false;
}

void provider_health::rest(instant now, double draw, duration at_least) noexcept {
  const double doubled = std::ldexp(static_cast<double>(rules_.first_rest.count()), std::min(rests_in_a_row_, 40));
  const double bounded = std::min(doubled, static_cast<double>(rules_.max_rest.count()));
  const double length = std::min(bounded * (1 + rules_.jitter * draw), 0x1p60);
  rested_at_ = now;
  rests_until_ = after(now, std::max(duration(static_cast<duration::rep>(length)), at_least));
  on_trial_ = true;
  ++rests_in_a_row_;
  in_a_row_ = 0;
}

std::int64_t provider_health::part_of(instant now) const noexcept {
  return now.time_since_epoch() / std::max(rules_.window / static_cast<std::int64_t>(parts), duration(1));
}

void provider_health::count(bool failed, instant now) noexcept {
  const std::int64_t number = part_of(now);
  tally& here = seen_[static_cast<std::size_t>(number) % parts];
  if (here.number != number) here = {number, 0, 0};
  ++here.calls;
  here.failed += failed ? 1 : 0;
}

bool provider_health::too_many(instant now) const noexcept {
  const std::int64_t newest = part_of(now);
  std::int64_t calls = 0;
  std::int64_t failed = 0;
  for (const tally& each : seen_) {
    if (each.number <= newest - static_cast<std::int64_t>(parts)) continue;
    calls += each.calls;
    failed += each.failed;
  }
  return calls >= rules_.least_calls && static_cast<double>(failed) >= rules_.share * static_cast<double>(calls);
}

}  // namespace sluice::llm::detail
