#include "llm/attempts/backoff.hpp"

#include <algorithm>
#include <iterator>
#include <random>

namespace sluice::llm::detail {

namespace {

std::uint64_t seed_of_system() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) ^ device();
}

// SplitMix64 (Steele, Lea, Flood 2014): each number is a function of its place alone, so that threads need no lock.
std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

backoff::backoff(const retry_policy& rules, std::uint64_t seed)
    : rules_(rules), state_(seed == 0 ? seed_of_system() : seed) {}

duration backoff::up_to(duration most) noexcept {
  if (most <= duration::zero()) return duration::zero();
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  const std::uint64_t drawn = mixed(state_.fetch_add(golden, std::memory_order_relaxed) + golden);
  const double share = static_cast<double>(drawn >> 11U) * 0x1.0p-53;
  return std::min(most, duration(static_cast<duration::rep>(static_cast<double>(most.count()) * share)));
}

duration backoff::longest(int failures) const noexcept {
  duration length = std::min(rules_.first_backoff, rules_.max_backoff);
  for (int n = 1; n < failures && length < rules_.max_backoff; ++n) {
    length = length > rules_.max_backoff / 2 ? rules_.max_backoff : length * 2;
    if (length == duration::zero()) break;
  }
  return length;
}

duration backoff::added_to(duration asked) noexcept {
  return up_to((asked > duration::zero() ? asked : rules_.first_backoff) / 10);
}

instant backoff::moment(instant now, instant earliest, duration spread) {
  const auto step_at = [](instant when) { return when.time_since_epoch() / step; };
  const instant wanted = after(earliest, up_to(spread));
  if (wanted == never) return never;
  const std::lock_guard lock(mutex_);
  while (!taken_.empty() && taken_.begin()->second <= step_at(now)) taken_.erase(taken_.begin());
  // Rounded up: a wait is never cut short.
  std::int64_t place = (wanted.time_since_epoch() + step - duration(1)) / step;
  auto next = taken_.upper_bound(place);
  if (next != taken_.begin()) {
    const auto run = std::prev(next);
    if (run->second >= place) {
      place = std::max(place, run->second);
      run->second = place + 1;
      if (next != taken_.end() && next->first == run->second) {
        run->second = next->second;
        taken_.erase(next);
      }
      return instant(step * place);
    }
  }
  auto& end = taken_[place];
  end = place + 1;
  if (next != taken_.end() && next->first == end) {
    end = next->second;
    taken_.erase(next);
  }
  return instant(step * place);
}

}  // namespace sluice::llm::detail
