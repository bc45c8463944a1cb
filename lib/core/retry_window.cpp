#include "core/retry_window.hpp"

#include <algorithm>

namespace sluice::core {

void retry_window::configure(const retry_budget& rules) noexcept {
  if (rules.window != rules_.window || rules.enabled != rules_.enabled) {
    counts_ = {};
    sum_ = {};
    filling_ = 0;
    // Where nothing is limited, no bucket is ever full.
    ends_ = rules.enabled ? instant::min() : never;
  }
  rules_ = rules;
}

// No instant is before the origin here.
std::int64_t retry_window::bucket_at(instant now) const noexcept {
  const std::int64_t width = std::max<std::int64_t>(1, rules_.window.count() / buckets);
  return std::max<std::int64_t>(0, now.time_since_epoch().count()) / width;
}

void retry_window::move_on(instant now) noexcept {
  const std::int64_t next = bucket_at(now);
  counts_[place_].fresh += filling_;
  sum_.fresh += filling_;
  filling_ = 0;
  if (ends_ == instant::min() || next - bucket_ >= buckets) {
    counts_ = {};
    sum_ = {};
    bucket_ = next;
  }
  while (bucket_ < next) {
    counts& oldest = bucket(++bucket_);
    sum_.fresh -= oldest.fresh;
    sum_.again = {sum_.again.tokens - oldest.again.tokens, sum_.again.count - oldest.again.count};
    oldest = {};
  }
  place_ = static_cast<std::size_t>(bucket_ % buckets);
  const wide end = wide{bucket_ + 1} * std::max<std::int64_t>(1, rules_.window.count() / buckets);
  ends_ = end >= never.time_since_epoch().count() ? never : instant(duration(static_cast<std::int64_t>(end)));
}

retry_window::counts retry_window::within(instant now) const noexcept {
  counts left = sum_;
  left.fresh += filling_;
  if (now >= ends_) {
    // The oldest stand behind the one that is being filled.
    const std::int64_t gone = ends_ == instant::min() ? buckets : std::min(buckets, bucket_at(now) - bucket_);
    for (std::int64_t n = 1; n <= gone; ++n) {
      const counts& oldest = counts_[static_cast<std::size_t>((bucket_ + n) % buckets)];
      left.fresh -= oldest.fresh;
      left.again = {left.again.tokens - oldest.again.tokens, left.again.count - oldest.again.count};
    }
    if (gone == buckets) left.fresh -= filling_;
  }
  left.again = {left.again.tokens + waiting_.tokens, left.again.count + waiting_.count};
  return left;
}

bool retry_window::allows(std::int64_t tokens, instant now) const noexcept {
  if (!rules_.enabled) return true;
  const counts before = within(now);
  if (before.again.count < rules_.minimum) return true;
  return static_cast<double>(before.again.tokens + tokens) <= rules_.share * static_cast<double>(before.fresh);
}

void retry_window::start(std::int64_t tokens, instant now) noexcept {
  remove(waiting_, tokens);
  if (!rules_.enabled) return;
  if (now >= ends_) move_on(now);
  add(counts_[place_].again, tokens);
  add(sum_.again, tokens);
}

}  // namespace sluice::core
