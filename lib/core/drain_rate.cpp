#include "core/drain_rate.hpp"

#include "core/bounded_duration.hpp"
#include "core/decay.hpp"

#include <algorithm>

namespace sluice::core {

drain_rate::sums drain_rate::decayed(duration busy_time) const noexcept {
  constexpr double half_life_seconds = std::chrono::duration<double>(half_life).count();
  // The integral of the weight over all of the past: 10 s / ln 2.
  constexpr double all_time = half_life_seconds / 0.693147180559945309417;
  const double left = decay(std::chrono::duration<double>(busy_time).count() / half_life_seconds);
  return {sums_.slots * left, sums_.tokens * left, sums_.time * left + all_time * (1 - left)};
}

drain_rate::sums drain_rate::extended(duration busy_time) const noexcept {
  return {sums_.slots, sums_.tokens, sums_.time + static_cast<double>(busy_time.count()) * 1e-9};
}

void drain_rate::busy(instant now, bool somebody_waits) noexcept {
  now = std::max(now, last_);
  if (waits_) {
    if (now != last_) sums_ = decayed(now - last_);
    last_busy_ = now;
  } else if (known_ && now - last_busy_ > forgotten_after) {
    sums_ = {};
    releases_ = 0;
    known_ = false;
  }
  if (somebody_waits) {
    last_busy_ = now;
    known_ = true;
  }
  last_ = now;
  waits_ = somebody_waits;
}

void drain_rate::released(std::int64_t slots, std::int64_t tokens, instant now, bool somebody_waits) noexcept {
  if (!waits_ || !somebody_waits || now - last_ >= grain) busy(now, somebody_waits);
  if (!somebody_waits) return;
  sums_.slots += static_cast<double>(slots);
  sums_.tokens += static_cast<double>(tokens);
  if (slots > 0 && releases_ < fewest_releases) ++releases_;
}

std::optional<duration> drain_rate::estimate(std::int64_t slots_ahead, std::int64_t tokens_ahead,
                                             instant now) const noexcept {
  now = std::max(now, last_);
  if (releases_ < fewest_releases) return std::nullopt;
  if (!waits_ && now - last_busy_ > forgotten_after) return std::nullopt;
  const duration since = waits_ ? now - last_ : duration::zero();
  const sums all = since < grain ? extended(since) : decayed(since);
  if (all.time <= 0) return std::nullopt;
  double seconds = 0;
  if (slots_ahead > 0) seconds = static_cast<double>(slots_ahead) * all.time / all.slots;
  if (tokens_ahead > 0) {
    if (all.tokens <= 0) return std::nullopt;
    seconds = std::max(seconds, static_cast<double>(tokens_ahead) * all.time / all.tokens);
  }
  return bounded_duration(seconds * 1e9);
}

}  // namespace sluice::core
