#include "core/overload.hpp"

#include "core/wide.hpp"

#include <algorithm>

namespace sluice::core {

namespace {

std::int64_t floor_division(std::int64_t number, std::int64_t by) noexcept {
  return number / by - (number % by < 0 ? 1 : 0);
}

}  // namespace

void overload::configure(const overload_policy& rules) noexcept {
  if (rules.window != rules_.window) *this = {};
  rules_ = rules;
  judge();
}

void overload::arrived(instant now) noexcept {
  ++advance(now).arrived;
  ++sum_.arrived;
  judge();
}

void overload::missed(instant now) noexcept {
  ++advance(now).missed;
  ++sum_.missed;
  judge();
}

bool overload::active(instant now) noexcept {
  static_cast<void>(advance(now));
  judge();
  return active_;
}

overload::counts& overload::move_on(instant now) noexcept {
  constexpr auto around = static_cast<std::int64_t>(buckets);
  const std::int64_t width = std::max<std::int64_t>(1, rules_.window.count() / around);
  const std::int64_t next = floor_division(now.time_since_epoch().count(), width);
  if (!begun_ || (bucket_ < next && next - around >= bucket_)) {
    counts_ = {};
    sum_ = {};
    bucket_ = next - 1;
    begun_ = true;
  }
  const auto place = [](std::int64_t number) {
    return static_cast<std::size_t>(number - around * floor_division(number, around));
  };
  const bool moves = bucket_ < next;
  while (bucket_ < next) {
    counts& oldest = counts_[place(++bucket_)];
    sum_.arrived -= oldest.arrived;
    sum_.missed -= oldest.missed;
    oldest = {};
  }
  // What has slid out of the window may end it before what comes next is counted.
  if (moves) judge();
  place_ = place(bucket_);
  const wide end = wide{bucket_ + 1} * width;
  ends_ = end > never.time_since_epoch().count() ? never : instant(duration(static_cast<std::int64_t>(end)));
  return counts_[place_];
}

void overload::judge() noexcept {
  if (!rules_.enabled || sum_.missed == 0) {
    active_ = false;
    return;
  }
  const auto arrivals = static_cast<double>(sum_.arrived);
  const auto misses = static_cast<double>(sum_.missed);
  if (active_)
    active_ = misses >= rules_.leave * arrivals;
  else
    active_ = sum_.arrived >= fewest_arrivals && misses > rules_.enter * arrivals;
}

}  // namespace sluice::core
