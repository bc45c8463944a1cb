#include "core/ledger.hpp"

namespace sluice::core {
namespace {

capacity bounded(capacity limit) noexcept {
  return {std::min(limit.slots, largest_pool), std::min(limit.tokens, largest_pool)};
}

// A floor needs nothing on an axis without a limit; without this, what asks for some of it would never be within its
// floor.
capacity completed(capacity floor, capacity total) noexcept {
  constexpr std::int64_t plenty = largest_pool / static_cast<std::int64_t>(max_workloads);
  if (total.tokens == unlimited && floor.slots > 0 && floor.tokens == 0) floor.tokens = plenty;
  if (total.slots == unlimited && floor.tokens > 0 && floor.slots == 0) floor.slots = plenty;
  return floor;
}

}  // namespace

void ledger::configure(const policy& rules) noexcept {
  capacity held{slot_limit_ - free_.slots, total_.tokens - free_.tokens};
  total_ = bounded(rules.total);
  slot_limit_ = total_.slots;
  free_ = {total_.slots - held.slots, total_.tokens - held.tokens};
  for (std::size_t c = 0; c < rules.classes.size(); ++c) {
    accounts_[c].floor = accounts_[c].fixed_floor = bounded(completed(rules.classes[c].floor, rules.total));
    accounts_[c].ceiling = rules.classes[c].ceiling;
    accounts_[c].fixed_ceiling_slots = rules.classes[c].ceiling.slots;
    renew_need(accounts_[c]);
  }
}

void ledger::limit_slots(std::int64_t slots) noexcept {
  const std::int64_t moved = std::min(slots, total_.slots);
  free_.slots += moved - slot_limit_;
  slot_limit_ = moved;
}

void ledger::limit_class(std::size_t c, std::int64_t slots) noexcept {
  account& own = accounts_[c];
  own.ceiling.slots = std::min(own.fixed_ceiling_slots, slots);
  own.floor = own.ceiling.slots == 0
                  ? capacity{}
                  : capacity{std::min(own.fixed_floor.slots, own.ceiling.slots), own.fixed_floor.tokens};
  renew_need(own);
}

constraint ledger::possible(std::size_t c, capacity asked) const noexcept {
  const account& own = accounts_[c];
  if (own.fixed_ceiling_slots == 0 || asked.slots > own.fixed_ceiling_slots) return constraint::class_slots;
  if (asked.tokens > own.ceiling.tokens) return constraint::class_tokens;
  if (total_.slots != 0 && asked.slots > total_.slots) return constraint::pool_slots;
  if (total_.tokens != 0 && asked.tokens > total_.tokens) return constraint::pool_tokens;
  return constraint::none;
}

}  // namespace sluice::core
