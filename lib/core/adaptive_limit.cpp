#include "core/adaptive_limit.hpp"

#include <algorithm>

namespace sluice::core {

namespace {

/// A baseline of fewer completions is not compared with.
constexpr std::uint32_t fewest_calm = 5;
/// How many recent completions the averages span, and must, before they count.
constexpr std::uint32_t recent = 8;
constexpr std::uint32_t baseline_span = 32;
constexpr std::int64_t most_patient = 3;
/// So many decreases in a row that made nothing faster are one too many: the first ones may have met a provider that
/// was still getting slower, since averages lag behind it.
constexpr int most_futile = 3;

limit_change reason_of(provider_signal what) noexcept {
  switch (what) {
    case provider_signal::rate_limited: return limit_change::rate_limited;
    case provider_signal::overloaded: return limit_change::overloaded;
    case provider_signal::timed_out: break;
  }
  return limit_change::timed_out;
}

}  // namespace

void adaptive_limit::configure(const adaptive_policy& rules, std::int64_t slots) noexcept {
  const bool first = slots_ < 0;
  const bool goes_on = !first && rules.enabled && rules_.enabled;
  const bool unhindered = limit_ == slots_;
  const std::int64_t before = limit_;
  rules_ = rules;
  slots_ = slots;
  if (goes_on) {
    limit_ = bounded(unhindered ? slots : limit_);
  } else {
    *this = {};
    rules_ = rules;
    slots_ = slots;
    limit_ = rules.enabled ? bounded(rules.initial > 0 ? rules.initial : slots) : slots;
  }
  if (!first && limit_ != before) {
    reason_ = limit_change::reconfigured;
    completions_ = 0;
  }
}

bool adaptive_limit::signal(provider_signal what, instant now) noexcept {
  if (!rules_.enabled) return false;
  now_ = std::max(now_, now);
  return decrease(reason_of(what));
}

bool adaptive_limit::sample(const service_sample& what, std::int64_t in_flight_at_start, bool limit_was_binding,
                            instant now) noexcept {
  if (!rules_.enabled || !what.usable()) return false;
  now_ = std::max(now_, now);
  // Work from before the last decrease says how it was under the limit of then.
  const bool current = last_decrease_ == instant::min() || what.total <= now_ - last_decrease_;
  if (rules_.tolerance > 0 && what.first_token_known()) {
    compare(what, static_cast<double>(std::max<std::int64_t>(1, in_flight_at_start)), current);
    if (slower()) return compared_ >= recent && yield();
  }
  if (!current || !limit_was_binding) return false;
  ++completions_;
  return grow();
}

void adaptive_limit::compare(const service_sample& what, double in_flight, bool current) noexcept {
  const auto input = static_cast<double>(what.input_tokens);
  const auto output = static_cast<double>(what.output_tokens);
  const auto first = static_cast<double>(what.to_first_token.count());
  const auto rest = static_cast<double>((what.total - what.to_first_token).count());

  const std::uint32_t points = first_token_.points();
  if (points < fewest_calm || in_flight <= calm_in_flight_) {
    first_token_.add(input, first);
    after_first_token_.add(output, rest);
    calm_in_flight_ += (in_flight - calm_in_flight_) / std::min(points + 1, baseline_span);
  }

  if (!current || first_token_.points() < fewest_calm) return;
  const double calm_first = first_token_.solve().at(input);
  const double calm_rest = after_first_token_.solve().at(output);
  if (calm_first <= 0 || calm_rest <= 0) return;
  if (compared_ < recent) ++compared_;
  // A single one, however slow, does not make it slower on average.
  const auto take_in = [&](double& average, double slowness) {
    average += (std::min(slowness, 2 * std::max(average, rules_.tolerance)) - average) / compared_;
  };
  take_in(prompt_slowness_, first / calm_first);
  take_in(output_slowness_, rest / calm_rest);
  in_flight_ += (in_flight - in_flight_) / compared_;
}

bool adaptive_limit::slower() const noexcept {
  return compared_ != 0 && prompt_slowness_ > rules_.tolerance && output_slowness_ > rules_.tolerance &&
         in_flight_ > calm_in_flight_ + 0.5;
}

bool adaptive_limit::yield() noexcept {
  if (!window_since(last_decrease_)) return false;
  const double slowness = prompt_slowness_ + output_slowness_;
  const double in_flight = in_flight_;
  const bool in_vain = in_flight <= 0.9 * yielded_in_flight_ && slowness >= 0.95 * yielded_slowness_;
  const int futile = in_vain ? futile_ + 1 : 0;
  if (futile == most_futile) {
    // Less in flight does not make it faster: that is how it is now, and no reason to let less through.
    first_token_ = after_first_token_ = fitted_line(1.0 / baseline_span);
    compared_ = 0;
    futile_ = 0;
    yielded_in_flight_ = 0;
    return false;
  }
  const bool changed = decrease(limit_change::slower);
  futile_ = futile;
  yielded_slowness_ = slowness;
  yielded_in_flight_ = in_flight;
  return changed;
}

bool adaptive_limit::decrease(limit_change why) noexcept {
  if (!window_since(last_decrease_)) return false;
  last_decrease_ = now_;
  completions_ = 0;
  compared_ = 0;
  yielded_in_flight_ = 0;
  futile_ = 0;
  if (limit_ <= bounded(0)) {
    failed_ = 0;
    patience_ = 1;
    return false;
  }
  const std::int64_t nearby = std::max<std::int64_t>(1, failed_ / 8);
  const bool same_place = failed_ != 0 && limit_ >= failed_ && limit_ - failed_ <= nearby;
  patience_ = same_place ? std::min(2 * patience_, most_patient) : 1;
  failed_ = limit_;
  // Rounded down, so that it is at least one less.
  return move(static_cast<std::int64_t>(static_cast<double>(limit_) * rules_.backoff), why);
}

bool adaptive_limit::grow() noexcept {
  if (limit_ >= slots_ || !window_since(last_change_)) return false;
  const std::int64_t safe = failed_ == 0 ? slots_ : failed_ - std::max<std::int64_t>(1, failed_ / 10);
  if (limit_ < safe) return move(limit_ + std::min({completions_, limit_, safe - limit_}), limit_change::slow_start);
  if (limit_ + 1 == failed_) return completions_ >= patience_ * limit_ && move(failed_, limit_change::probe);
  if (completions_ < limit_) return false;
  if (limit_ < failed_)
    return move(std::min(limit_ + std::max<std::int64_t>(1, failed_ / 16), failed_ - 1), limit_change::probe);
  return move(limit_ + std::max<std::int64_t>(1, limit_ / 4), limit_change::slow_start);
}

bool adaptive_limit::move(std::int64_t wished, limit_change why) noexcept {
  const std::int64_t before = limit_;
  limit_ = bounded(wished);
  if (limit_ == before) return false;
  reason_ = why;
  completions_ = 0;
  last_change_ = now_;
  return true;
}

bool adaptive_limit::window_since(instant then) const noexcept {
  return then == instant::min() || now_ - then >= rules_.window;
}

std::int64_t adaptive_limit::bounded(std::int64_t wished) const noexcept {
  return std::min(std::max(wished, rules_.minimum), slots_);
}

}  // namespace sluice::core
