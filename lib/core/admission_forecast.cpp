// What would become of a request, found out without letting it in. Nothing is changed that anybody could see.
#include "core/admission_state.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::core {

expected<forecast, decision> admission::state::forecast(const request& what, instant now) {
  const instant before = now_;
  advance(now);
  auto told = forecast_at_present(what);
  now_ = before;
  return told;
}

newcomer admission::state::newcomer_of(const request& what, const candidate& as) noexcept {
  newcomer made;
  made.as = as;
  const bool again = what.age.sequence != 0 && what.age.sequence < next_sequence_;
  made.sequence = again ? what.age.sequence : next_sequence_;
  made.arrived = again ? std::clamp(what.age.arrived, instant{}, now_) : now_;
  const std::size_t c = as.workload;
  made.where = {tenants_[as.tenant].flows[c], false, made.sequence};
  if (as.run != no_run) {
    made.parked = runs_.check(as.run, as.price(), as.finalising).what == budget_verdict::kind::wait;
    const bool goes_on = !runs_.under_way(as.run);
    made.where.root = runs_.root_of(as.run);
    made.where.continuing = goes_on && runs_.started(as.run);
    if (goes_on) made.where.rank = runs_.root_rank(as.run);
  }
  made.by_cost = queue_.ordered_by_cost(c);
  if (made.by_cost && as.deadline != never) {
    overload counted = overloads_[c];
    counted.arrived(now_);
    made.by_cost = counted.active(now_);
  }
  made.next = next_with(made);
  const bool served = ledger_.free().slots > 0 || slotless_ != 0 || as.asked.slots == 0;
  if (served && would_resume(made) && made.next == queue_.head_of(made.where.flow)) look_again(made);
  return made;
}

// Who of its tenant was the next when the rate paused it is looked at again when another one joins.
bool admission::state::would_resume(const newcomer& who) const noexcept {
  const std::uint32_t flow = who.where.flow;
  return !who.parked && flow != nowhere && flows_[flow].waiting != 0 && flows_[flow].paused;
}

void admission::state::look_again(newcomer& who) noexcept {
  const std::uint32_t head = who.next;
  const duration waited = now_ - tickets_[head].arrived;
  const duration promise = rules_.classes[who.as.workload].start_within;
  const bool alone = flows_[who.where.flow].waiting == 1;
  if (hopeless(head)) {
    who.leaving = head;
    if (alone) who.next = nowhere;
  } else if (promise > duration::zero() && !queue_.is_late(head) && waited > promise) {
    if (alone && waited < rules_.overload.age_cap) who.next = nowhere;
  } else {
    const rate_charge charge = candidate_of(head).charge();
    who.held_up = tenants_[who.as.tenant].rates.first_short(charge, now_) != rate_axis::none;
  }
}

expected<forecast, decision> admission::state::forecast_at_present(const request& what) {
  const candidate as = candidate_for(what, tenants_.look(what.tenant, now_));
  const auto refused = [&](reason why, constraint bound) {
    return unexpected<decision>(refusal_of(what, as, why, bound));
  };
  constraint bound = constraint::none;
  if (const reason why = objection(what, as, bound); why != reason::none) {
    const bool by_policy = why == reason::impossible || why == reason::budget_exhausted || why == reason::retry_budget;
    if (!rules_.observe || !by_policy) return refused(why, bound);
  }
  if (rules_.observe) return sluice::forecast{true, duration::zero()};
  if (queue_.empty() && can_start_at_once(as) && in_time(as)) return sluice::forecast{true, duration::zero()};
  newcomer who = newcomer_of(what, as);
  ledger accounts = ledger_;
  put_down(who, accounts);
  const auto first = who_would_start(who, accounts);
  if (first == nowhere) return sluice::forecast{true, duration::zero()};
  if (first) who.leaving = *first;
  bound = bound_at_arrival(who);
  const bool looked_at = !who.parked && !in_time(as) && who.next == nowhere;
  if (!what.may_wait && !looked_at) return refused(is_rate(bound) ? reason::rate_limited : reason::no_room, bound);
  const prospect expected = foresee(as, would_be_ahead_of(who), true);
  const bool limited = as.deadline != never && rules_.feasibility.enabled && !who.parked;
  if (limited && (!expected.feasible || looked_at)) {
    decision late = refusal_of(what, as, reason::infeasible, looked_at ? constraint::deadline : bound);
    late.expected_service = expected.service;
    if (late.could_start == never) late.could_start = expected.start;
    return unexpected<decision>(late);
  }
  if (const constraint full = would_be_shed(who); full != constraint::none) return refused(reason::queue_full, full);
  if (would_raise_its_ceiling(who, accounts)) return sluice::forecast{true, duration::zero()};
  const decision made = refusal_of(what, as, reason::none, bound);
  instant start = made.could_start;
  if (reopening_.closed(now_))
    start = std::max(reopening_.opens_after(made.ahead), expected.start == never ? now_ : expected.start);
  if (start == never && !who.parked) start = expected.start;
  sluice::forecast waits;
  if (start != never && !who.parked) waits.wait = start - now_;
  return waits;
}

constraint admission::state::bound_at_arrival(const newcomer& who) const noexcept {
  const candidate& what = who.as;
  if (what.run != no_run) {
    const budget_verdict verdict = runs_.check(what.run, what.price(), what.finalising);
    if (verdict.what == budget_verdict::kind::wait) return bound_of(verdict);
  }
  if (reopening_.closed(now_)) return reopening_.paused(now_) ? constraint::provider_pause : constraint::reopening;
  if (const constraint bound = ledger_.room(what.workload, what.asked); bound != constraint::none)
    return refined(what, bound);
  if (const constraint bound = rate_bound(what); bound != constraint::none) return bound;
  const bool others_turn = who.held_up ? flows_.first(what.workload) != nowhere : !would_have_turn(who);
  return others_turn ? constraint::tenant_turn : constraint::order;
}

bool admission::state::would_have_turn(const newcomer& who) const noexcept {
  const std::size_t c = who.as.workload;
  const std::uint32_t flow = who.where.flow;
  const bool has_none = flow == nowhere || flows_[flow].waiting == 0 || flows_[flow].paused;
  return has_none ? flows_.would_come_first(c, flow) : flow == flows_.first(c);
}

std::uint32_t admission::state::next_with(const newcomer& who) const noexcept {
  const std::size_t c = who.as.workload;
  const std::uint32_t flow = who.where.flow;
  const std::uint32_t first = flows_.first(c);
  const bool alone = flow == nowhere || flows_[flow].waiting == 0;
  const bool own_turn = would_have_turn(who);
  const std::uint32_t turn = own_turn ? flow : first;
  const bool leads = own_turn && (alone || queue_.would_lead(who.where, who.as.deadline, who.sequence));
  std::uint32_t head = leads ? nowhere : queue_.head_of(turn);
  const auto aged = [this](instant arrived) { return now_ - arrived >= rules_.overload.age_cap; };
  if (rules_.classes[c].start_within > duration::zero() && !(own_turn && alone)) {
    const std::uint32_t late = queue_.late_of(turn);
    if (late != nowhere && aged(tickets_[late].arrived)) head = late;
  }
  if (!who.by_cost || aged(head == nowhere ? who.arrived : tickets_[head].arrived)) return head;
  const std::uint32_t cheapest = queue_.cheapest(c);
  if (cheapest == nowhere) return nowhere;
  const auto of_it = std::pair(queue_.least_cost(c), tickets_[cheapest].sequence);
  if (std::pair(expected_cost(who.as), who.sequence) < of_it) return nowhere;
  const std::uint32_t its = flow_of(cheapest);
  return flows_[its].paused && its != flow ? head : cheapest;
}

capacity admission::state::would_be_ahead_of(const newcomer& who) const noexcept {
  const std::size_t c = who.as.workload;
  const bool last = who.as.deadline >= latest_deadline_[c] && !who.by_cost;
  capacity ahead = ahead_in(c, last, {});
  if (!last || who.held_up || !would_resume(who)) return ahead;
  const flow& resumed = flows_[who.where.flow];
  ahead.slots += resumed.slots;
  ahead.tokens =
      static_cast<std::int64_t>(std::clamp<wide>(wide{ahead.tokens} + resumed.tokens, 0, std::int64_t{1} << 61));
  return ahead;
}

// As the small one of its class that passes the head, when none that has waited is as large.
bool admission::state::would_pass(const newcomer& who, std::uint32_t head, const ledger& accounts) {
  const candidate& what = who.as;
  const std::size_t c = what.workload;
  const capacity free = ledger_.free();
  const std::size_t magnitude = shed_index::bucket_of(what.asked.tokens);
  const std::int64_t most = most_beside(c);
  if (free.slots <= 0 || free.tokens <= 0 || magnitude > 62 || (std::int64_t{1} << magnitude) - 1 > most) return false;
  const std::uint32_t other = queue_.fitting(c, most, head);
  if (other != shed_index::none) {
    const std::size_t its = shed_index::bucket_of(tickets_[other].tokens);
    if (its > magnitude || (its == magnitude && tickets_[other].sequence < who.sequence)) return false;
  }
  return accounts.room(c, what.asked) == constraint::none && rate_bound(what) == constraint::none;
}

void admission::state::put_down(const newcomer& who, ledger& accounts) const noexcept {
  if (who.parked) return;
  accounts.queue(who.as.workload, who.as.asked.slots, who.as.asked.tokens);
  if (!would_resume(who)) return;
  const flow& resumed = flows_[who.where.flow];
  accounts.queue(who.as.workload, resumed.slots, resumed.tokens);
}

// As `choose`, with it among those that wait.
std::optional<std::uint32_t> admission::state::who_would_start(const newcomer& who, const ledger& accounts) {
  const candidate& what = who.as;
  const bool slots = accounts.free().slots > 0 || slotless_ != 0 || what.asked.slots == 0;
  if (who.parked || who.held_up || reopening_.closed(now_) || !slots || !in_time(what)) return std::nullopt;
  if (tenants_[what.tenant].rates.first_short(what.charge(), now_) != rate_axis::none) return std::nullopt;
  bool blocked = false;
  for (const bool floors : {true, false}) {
    for (std::size_t rank = 0; rank < class_count_; ++rank) {
      const std::size_t c = by_priority_[rank];
      const bool same = c == what.workload;
      if (!same && (queue_.waiting_classes() >> c & 1U) == 0) continue;
      instant until;
      const std::uint32_t head = same ? who.next : look_for_next(c, until);
      const candidate next = head == nowhere ? what : candidate_of(head);
      if (accounts.within_floor(c, next.asked) != floors) continue;
      constraint bound = accounts.room(c, next.asked);
      if (bound == constraint::none) bound = provider_short(next);
      if (bound == constraint::none) return head;
      if (bound != constraint::pool_slots && bound != constraint::pool_tokens && bound < constraint::provider_requests)
        continue;
      if (!blocked && !could_be_passed(head, next)) return std::nullopt;
      blocked = true;
      if (same && head != nowhere && would_pass(who, head, accounts)) return nowhere;
      if (const std::uint32_t other = small_one(c, head); other != nowhere) return other;
    }
  }
  return std::nullopt;
}

bool admission::state::could_be_passed(std::uint32_t head, const candidate& what) const noexcept {
  const duration patience = patience_for(what);
  if (head == nowhere || blocked_ != id_of(head)) return rules_.bypass.passes > 0 && patience > duration::zero();
  return passes_ < rules_.bypass.passes && now_ < after(blocked_since_, patience);
}

// What waits for its class's moving ceiling, and is the next, is what raises it.
bool admission::state::would_raise_its_ceiling(const newcomer& who, ledger& accounts) {
  const std::size_t c = who.as.workload;
  if (!is_elastic(c) || who.parked || who.next != nowhere) return false;
  if (ledger_.room(c, who.as.asked) != constraint::class_slots) return false;
  elastic_cap moved = elastic_[c];
  if (moved.next_update() > now_ || !moved.update(longest_wait_above(c), true, now_, anybody_runs_above(c)))
    return false;
  accounts.limit_class(c, std::min(moved.cap(), habits_[c].most_at_once));
  return who_would_start(who, accounts) == nowhere;
}

constraint admission::state::would_be_shed(const newcomer& who) {
  const candidate& what = who.as;
  const std::size_t own = what.workload;
  const std::size_t magnitude = shed_index::bucket_of(what.asked.tokens);
  const auto is_worst = [&](std::size_t c) {
    const std::uint32_t worst = queue_.worst(c);
    if (worst == shed_index::none) return true;
    if (c != own || who.parked) return false;
    const std::size_t its = shed_index::bucket_of(tickets_[worst].tokens);
    return its < magnitude || (its == magnitude && tickets_[worst].sequence < who.sequence);
  };
  const bool anybody_leaves = who.leaving != nowhere;
  const std::size_t left = anybody_leaves ? 1 : 0;
  const std::size_t left_own = anybody_leaves && tickets_[who.leaving].workload == own ? 1 : 0;
  if (queue_.size(own) - left_own >= rules_.classes[own].max_waiting)
    return is_worst(own) ? constraint::class_queue : constraint::none;
  if (queue_.size() - left < rules_.max_waiting) return constraint::none;
  for (std::size_t rank = class_count_; rank-- > 0;) {
    const std::size_t c = by_priority_[rank];
    if (queue_.size(c) == queue_.parked(c) && (c != own || who.parked)) continue;
    const account& kept = ledger_[c];
    const std::int64_t wanted = demand_[c].slots + (c == own ? what.asked.slots : 0);
    if (wanted > std::max<std::int64_t>(0, kept.floor.slots - kept.held.slots))
      return is_worst(c) ? constraint::queue : constraint::none;
  }
  return constraint::queue;
}

}  // namespace sluice::core
