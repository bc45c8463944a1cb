#include "core/admission_state.hpp"
#include "core/saturating.hpp"

#include <algorithm>
#include <limits>

namespace sluice::core {
namespace {

std::int64_t narrowed(wide value) noexcept {
  constexpr wide most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, most));
}

std::int64_t limit_of(std::size_t most) noexcept {
  return static_cast<std::int64_t>(std::min<std::size_t>(most, std::numeric_limits<std::int64_t>::max()));
}

void add_up(class_statistics& all, const class_statistics& one) noexcept {
  all.in_flight += one.in_flight;
  all.held = {all.held.slots + one.held.slots, all.held.tokens + one.held.tokens};
  all.borrowed = {all.borrowed.slots + one.borrowed.slots, all.borrowed.tokens + one.borrowed.tokens};
  all.waiting += one.waiting;
  all.queued.slots += one.queued.slots;
  add(all.queued.tokens, one.queued.tokens);
  for (auto member : {&class_statistics::admitted_total, &class_statistics::admitted_after_wait_total,
                      &class_statistics::rejected_total, &class_statistics::expired_total, &class_statistics::shed_total,
                      &class_statistics::cancelled_total, &class_statistics::preempted_total,
                      &class_statistics::reserved_tokens_total, &class_statistics::consumed_tokens_total,
                      &class_statistics::refunded_tokens_total, &class_statistics::overrun_tokens_total,
                      &class_statistics::wasted_tokens_total}) {
    add(all.*member, one.*member);
  }
}

}  // namespace

constraint admission::state::bound_of(const ticket& which) const noexcept {
  const constraint bound = ledger_.room(which.workload, which.asked());
  return bound == constraint::none ? constraint::order : bound;
}

decision admission::state::describe(std::size_t c, const cost& asked, constraint bound) const noexcept {
  decision made;
  made.workload = workload(static_cast<std::uint8_t>(c));
  made.bound = bound;
  made.revision = rules_.revision;
  made.asked = asked;
  made.at = now_;
  if (c >= rules_.classes.size()) return made;
  const account& own = ledger_[c];
  const capacity others = ledger_.needs_beside(c);
  const capacity free = ledger_.free();
  std::int64_t wanted = 0;
  std::int64_t available = 0;
  const auto set = [&](std::int64_t limit, std::int64_t has, std::int64_t wants) {
    made.limit = limit;
    available = has;
    wanted = wants;
  };
  switch (bound) {
    case constraint::pool_slots: set(ledger_.total().slots, free.slots, asked.slots); break;
    case constraint::pool_tokens: set(ledger_.total().tokens, free.tokens, asked.tokens); break;
    case constraint::class_slots: set(own.ceiling.slots, own.ceiling.slots - own.held.slots, asked.slots); break;
    case constraint::class_tokens: set(own.ceiling.tokens, own.ceiling.tokens - own.held.tokens, asked.tokens); break;
    case constraint::protected_slots: set(ledger_.total().slots, free.slots - others.slots, asked.slots); break;
    case constraint::protected_tokens: set(ledger_.total().tokens, free.tokens - others.tokens, asked.tokens); break;
    case constraint::queue: set(limit_of(rules_.max_waiting), 0, 1); break;
    case constraint::class_queue: set(limit_of(rules_.classes[c].max_waiting), 0, 1); break;
    default: break;
  }
  if (__builtin_sub_overflow(wanted, available, &made.shortfall)) made.shortfall = std::numeric_limits<std::int64_t>::max();
  made.shortfall = std::max<std::int64_t>(0, made.shortfall);
  made.available = std::max<std::int64_t>(0, available);
  for (std::size_t other = 0; other < rules_.classes.size(); ++other) {
    if (other == c || rules_.classes[other].priority > rules_.classes[c].priority) made.ahead += queue_.size(other);
  }
  return made;
}

decision admission::state::describe(const ticket& which, constraint bound) const noexcept {
  decision made = describe(which.workload, {which.tokens, which.output, which.slots}, bound);
  made.waited = now_ - which.arrived;
  made.deadline = which.deadline;
  return made;
}

void admission::state::reject_waiter(std::uint32_t index, reason why, constraint bound, effects& out) {
  const ticket& which = tickets_[index];
  dequeue(index);
  decision made = describe(which, bound);
  made.outcome = outcome::rejected;
  made.reason = why;
  // Against the limits as they are, not against what happens to be held.
  if (why == reason::impossible) made.available = made.limit;
  class_statistics& counts = counts_[which.workload];
  ++counts.rejected_total;
  if (why == reason::deadline_in_queue) ++counts.expired_total;
  if (why == reason::shed) ++counts.shed_total;
  out.list.push_back({effect::kind::rejected, static_cast<std::uint32_t>(out.decisions.size()), id_of(index), which.tag, {}});
  out.decisions.push_back(made);
  forget(index);
}

void admission::state::reject_newcomer(const request& what, reason why, constraint bound, effects& out) {
  decision made = describe(what.workload.index(), what.cost, bound);
  made.outcome = outcome::rejected;
  made.reason = why;
  made.deadline = what.deadline;
  if (why == reason::impossible) made.available = made.limit;
  if (what.workload.index() < rules_.classes.size()) ++counts_[what.workload.index()].rejected_total;
  out.list.push_back({effect::kind::rejected, static_cast<std::uint32_t>(out.decisions.size()), {}, what.tag, {}});
  out.decisions.push_back(made);
}

std::optional<decision> admission::state::explain(request_id id) const {
  const ticket* which = find(id);
  if (which == nullptr) return std::nullopt;
  if (which->state == ticket::phase::waiting) {
    decision made = describe(*which, bound_of(*which));
    made.outcome = outcome::waiting;
    --made.ahead;
    return made;
  }
  const grant& held = grants_[which->grant];
  decision made = describe(*which, constraint::none);
  made.outcome = outcome::granted;
  made.revision = held.revision;
  made.waited = held.since - which->arrived;
  made.at = held.since;
  made.ahead = 0;
  return made;
}

std::optional<age> admission::state::age_of(request_id id) const {
  const ticket* which = find(id);
  if (which == nullptr) return std::nullopt;
  return age{which->arrived, which->sequence, which->preemptions};
}

std::vector<std::uint64_t> admission::state::waiting_tags() const {
  std::vector<std::uint64_t> tags;
  tags.reserve(queue_.size());
  for (std::size_t c = 0; c < rules_.classes.size(); ++c) {
    for (std::size_t number = 0; number < queue_.size(c); ++number) tags.push_back(tickets_[queue_.at(c, number)].tag);
  }
  return tags;
}

statistics admission::state::statistics() const {
  sluice::statistics all;
  all.revision = rules_.revision;
  all.total = rules_.total;
  all.class_count = rules_.classes.size();
  for (std::size_t c = 0; c < all.class_count; ++c) {
    const account& own = ledger_[c];
    class_statistics& one = all.classes[c];
    one = counts_[c];
    one.held = own.held;
    one.borrowed = {std::max<std::int64_t>(0, own.held.slots - own.floor.slots),
                    std::max<std::int64_t>(0, own.held.tokens - own.floor.tokens)};
    one.waiting = static_cast<std::int64_t>(queue_.size(c));
    one.queued = {own.queued_slots, narrowed(own.queued_tokens)};
    add_up(all.all, one);
  }
  return all;
}

}  // namespace sluice::core
