#include "core/admission_state.hpp"

#include <algorithm>
#include <utility>

namespace sluice::core {

void admission::state::settle(effects& out) {
  expire(out);
  serve(out);
  restore(out);
  ask_for_wake(out);
}

bool admission::state::expire(effects& out) {
  if (now_ < next_deadline_) return false;
  const std::size_t before = queue_.size();
  next_deadline_ = never;
  for (std::uint32_t left = queue_.waiting_classes(); left != 0; left &= left - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    while (queue_.size(c) != 0 && queue_.head_deadline(c) <= now_) {
      const std::uint32_t index = queue_.head(c);
      reject_waiter(index, reason::deadline_in_queue, bound_of(tickets_[index]), out);
    }
    if (queue_.size(c) != 0) next_deadline_ = std::min(next_deadline_, queue_.head_deadline(c));
  }
  return queue_.size() != before;
}

bool admission::state::entitled(std::size_t c) const noexcept {
  return ledger_.within_floor(c, tickets_[queue_.head(c)].asked());
}

// Strict order: a head that waits for room in the pool lets nobody behind it pass. Heads within their floor go first, so the
// first of the others is only the answer when none of those has settled it.
std::size_t admission::state::next_to_start() const noexcept {
  if (ledger_.free().slots <= 0 && slotless_ == 0) return max_workloads;
  const std::uint32_t waiting = queue_.waiting_classes();
  std::size_t borrower = max_workloads;
  bool settled = false;
  for (std::size_t rank = 0; rank < class_count_; ++rank) {
    const std::size_t c = by_priority_[rank];
    if ((waiting >> c & 1U) == 0) continue;
    const capacity asked = tickets_[queue_.head(c)].asked();
    const bool within = ledger_.within_floor(c, asked);
    if (!within && settled) continue;
    switch (ledger_.room(c, asked)) {
      case constraint::none:
        if (within) return c;
        borrower = c;
        settled = true;
        break;
      case constraint::pool_slots:
      case constraint::pool_tokens:
        if (within) return max_workloads;
        settled = true;
        break;
      default: break;
    }
  }
  return borrower;
}

void admission::state::serve(effects& out) {
  while (!queue_.empty()) {
    const std::size_t c = next_to_start();
    if (c == max_workloads) return;
    const std::uint32_t index = queue_.head(c);
    dequeue(index);
    grant_ticket(index);
    ++counts_[c].admitted_after_wait_total;
    out.list.push_back({effect::kind::granted, 0, id_of(index), tickets_[index].tag, {}});
  }
}

instant admission::state::restore_at(std::size_t c) const noexcept {
  const ticket& head = tickets_[queue_.head(c)];
  duration patience = rules_.classes[c].restore_within;
  if (head.deadline != never) patience = std::min(patience, (head.deadline - head.arrived) / 2);
  return after(head.arrived, patience);
}

void admission::state::restore(effects& out) {
  if (stoppable_.empty()) return;
  capacity target{};
  for (std::size_t rank = 0; rank < rules_.classes.size(); ++rank) {
    const std::size_t c = by_priority_[rank];
    if (queue_.size(c) == 0 || !entitled(c) || restore_at(c) > now_) continue;
    target.slots += ledger_[c].need.slots;
    target.tokens += ledger_[c].need.tokens;
    reclaim(c, target, out);
  }
}

bool admission::state::may_stop(std::size_t victim_class, const grant& victim) const noexcept {
  const ticket& which = tickets_[victim.ticket];
  // Nearly done: what it would waste is more than what it still holds up.
  if (which.output > 0 && victim.used.output_tokens >= which.output - which.output / 5) return false;
  const account& own = ledger_[victim_class];
  const capacity held{own.held.slots - stopping_[victim_class].slots, own.held.tokens - stopping_[victim_class].tokens};
  const auto borrowed = [](std::int64_t has, std::int64_t floor, std::int64_t part) {
    return has > floor && has - part >= floor;
  };
  return borrowed(held.slots, own.floor.slots, which.slots) || borrowed(held.tokens, own.floor.tokens, victim.hold);
}

void admission::state::reclaim(std::size_t c, capacity target, effects& out) {
  const capacity free = ledger_.free();
  capacity missing{target.slots - free.slots - reclaiming_.slots, target.tokens - free.tokens - reclaiming_.tokens};
  for (std::size_t rank = rules_.classes.size(); rank-- > 0;) {
    const std::size_t from = by_priority_[rank];
    if (rules_.classes[from].priority >= rules_.classes[c].priority) return;
    for (std::uint32_t index = stoppable_.newest(from); index != no_grant;) {
      if (missing.slots <= 0 && missing.tokens <= 0) return;
      grant& victim = grants_[index];
      const std::uint32_t current = std::exchange(index, victim.older);
      const capacity part{tickets_[victim.ticket].slots, victim.hold};
      const bool helps = (missing.slots > 0 && part.slots > 0) || (missing.tokens > 0 && part.tokens > 0);
      if (!helps || !may_stop(from, victim)) continue;
      victim.stopping = true;
      stoppable_.remove(from, current);
      missing = {missing.slots - part.slots, missing.tokens - part.tokens};
      reclaiming_ = {reclaiming_.slots + part.slots, reclaiming_.tokens + part.tokens};
      stopping_[from] = {stopping_[from].slots + part.slots, stopping_[from].tokens + part.tokens};
      out.list.push_back({effect::kind::preempt, 0, id_of(victim.ticket), tickets_[victim.ticket].tag, {}});
    }
  }
}

void admission::state::ask_for_wake(effects& out) {
  if (queue_.empty()) {
    next_deadline_ = never;
    if (std::exchange(armed_, never) != never) out.list.push_back({effect::kind::wake_at, 0, {}, 0, never});
    return;
  }
  instant next = std::min(armed_, next_deadline_);
  for (std::uint32_t left = stoppable_.empty() ? 0 : queue_.waiting_classes(); left != 0; left &= left - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    // One that is due has been tried in this event, and is tried again in each.
    if (!entitled(c)) continue;
    if (const instant due = restore_at(c); due > now_) next = std::min(next, due);
  }
  if (next >= armed_) return;
  armed_ = next;
  out.list.push_back({effect::kind::wake_at, 0, {}, 0, next});
}

bool admission::state::shed(std::uint32_t newcomer, effects& out) {
  const std::size_t c = tickets_[newcomer].workload;
  if (queue_.size(c) > rules_.classes[c].max_waiting) {
    shed_one(queue_.worst(c), newcomer, constraint::class_queue, out);
    return true;
  }
  if (queue_.size() <= rules_.max_waiting) return false;
  const std::size_t from = class_to_shed();
  shed_one(from == max_workloads ? newcomer : queue_.worst(from), newcomer, constraint::queue, out);
  return true;
}

void admission::state::shed_one(std::uint32_t index, std::uint32_t newcomer, constraint bound, effects& out) {
  reject_waiter(index, index == newcomer ? reason::queue_full : reason::shed, bound, out);
}

// What a class may wait for within its floor is not shed: else a flood of other work would starve it.
std::size_t admission::state::class_to_shed() const noexcept {
  for (std::size_t rank = rules_.classes.size(); rank-- > 0;) {
    const std::size_t c = by_priority_[rank];
    if (queue_.size(c) == 0) continue;
    const account& own = ledger_[c];
    if (own.queued_slots > std::max<std::int64_t>(0, own.floor.slots - own.held.slots)) return c;
  }
  return max_workloads;
}

}  // namespace sluice::core
