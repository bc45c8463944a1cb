#include "core/preemption.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::core {
namespace {

bool may_take(std::int64_t borrowed, std::int64_t part) noexcept { return borrowed > 0 && borrowed >= part; }

capacity without(capacity from, capacity part) noexcept { return {from.slots - part.slots, from.tokens - part.tokens}; }
capacity with(capacity to, capacity part) noexcept { return {to.slots + part.slots, to.tokens + part.tokens}; }

}  // namespace

std::span<const victim> preemption::choose(capacity missing, borrowings borrowed) {
  chosen_.clear();
  std::ranges::sort(all_, [](const victim& a, const victim& b) {
    const auto newer = static_cast<std::int32_t>(a.number - b.number) > 0;
    return std::tie(a.sunk, b.rank) != std::tie(b.sunk, a.rank) ? std::tie(a.sunk, b.rank) < std::tie(b.sunk, a.rank)
                                                                : newer;
  });
  for (const victim& one : all_) {
    if (missing.slots <= 0 && missing.tokens <= 0) break;
    const bool helps = (missing.slots > 0 && one.part.slots > 0) || (missing.tokens > 0 && one.part.tokens > 0);
    capacity& beyond = borrowed[one.workload];
    if (!helps || !(may_take(beyond.slots, one.part.slots) || may_take(beyond.tokens, one.part.tokens))) continue;
    beyond = without(beyond, one.part);
    missing = without(missing, one.part);
    chosen_.push_back(one);
  }
  if (missing.slots > 0 || missing.tokens > 0) return chosen_;
  for (std::size_t place = chosen_.size(); place-- > 0;) {
    const capacity then = with(missing, chosen_[place].part);
    if (then.slots > 0 || then.tokens > 0) continue;
    missing = then;
    chosen_.erase(chosen_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  return chosen_;
}

}  // namespace sluice::core
