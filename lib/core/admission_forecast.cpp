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
  const bool parked =
      as.run != no_run && runs_.check(as.run, as.price(), as.finalising).what == budget_verdict::kind::wait;
  const bool starts = queue_.empty() ? can_start_at_once(as) && in_time(as) : !parked && would_start(as);
  if (rules_.observe || starts) return sluice::forecast{true, duration::zero()};
  bound = bound_at_arrival(as);
  const bool looked_at = !parked && !in_time(as) && would_come_first(as);
  if (!what.may_wait && !looked_at) return refused(is_rate(bound) ? reason::rate_limited : reason::no_room, bound);
  const capacity ahead = ahead_in(as.workload, as.deadline, {});
  const prospect expected = foresee(as, ahead, true);
  const bool limited = as.deadline != never && rules_.feasibility.enabled && !parked;
  if (limited && (!expected.feasible || !in_time(as))) {
    decision late = refusal_of(what, as, reason::infeasible, in_time(as) ? bound : constraint::deadline);
    late.expected_service = expected.service;
    if (late.could_start == never) late.could_start = expected.start;
    return unexpected<decision>(late);
  }
  if (const constraint full = would_be_shed(as, parked); full != constraint::none)
    return refused(reason::queue_full, full);
  const decision made = refusal_of(what, as, reason::none, bound);
  instant start = made.could_start;
  if (reopening_.closed(now_))
    start = std::max(reopening_.opens_after(made.ahead), expected.start == never ? now_ : expected.start);
  if (start == never && !parked) start = expected.start;
  sluice::forecast waits;
  if (start != never && !parked) waits.wait = start - now_;
  return waits;
}

constraint admission::state::bound_at_arrival(const candidate& what) const noexcept {
  if (what.run != no_run) {
    const budget_verdict verdict = runs_.check(what.run, what.price(), what.finalising);
    if (verdict.what == budget_verdict::kind::wait) return bound_of(verdict);
  }
  if (reopening_.closed(now_)) return reopening_.paused(now_) ? constraint::provider_pause : constraint::reopening;
  if (const constraint bound = ledger_.room(what.workload, what.asked); bound != constraint::none)
    return refined(what, bound);
  if (const constraint bound = rate_bound(what); bound != constraint::none) return bound;
  const bool others = flows_.first(what.workload) != tenants_[what.tenant].flows[what.workload];
  return others && !would_come_first(what) ? constraint::tenant_turn : constraint::order;
}

// Where its run has a place already, and where the cheapest goes first, it is taken to come behind those that are
// there.
bool admission::state::would_come_first(const candidate& what) const noexcept {
  const std::size_t c = what.workload;
  const std::uint32_t flow = tenants_[what.tenant].flows[c];
  const bool alone = flow == nowhere || flows_[flow].waiting == 0;
  const bool nobody = (queue_.waiting_classes() >> c & 1U) == 0;
  if (alone && nobody) return true;
  if (what.run != no_run || queue_.ordered_by_cost(c)) return false;
  // One that its tenant's rate has paused waits for its turn again when another one joins.
  const bool paused = !alone && flows_[flow].paused;
  if ((alone || paused) && !flows_.would_come_first(c, flow)) return false;
  if (alone) return true;
  if (!paused && flow != flows_.first(c)) return false;
  instant until;
  const std::uint32_t head = paused ? queue_.head_of(flow) : look_for_next(c, until);
  if (queue_.is_late(head)) return now_ - tickets_[head].arrived < rules_.overload.age_cap;
  const bool continuing = tickets_[head].detailed && detail_of(head).continuing;
  return !continuing && what.deadline < tickets_[head].deadline;
}

// As the small one of its class that passes the head, when none that has waited is as large.
bool admission::state::would_pass(const candidate& what, std::uint32_t head) {
  const std::size_t c = what.workload;
  const capacity free = ledger_.free();
  const std::size_t magnitude = shed_index::bucket_of(what.asked.tokens);
  const std::int64_t most = most_beside(c);
  if (free.slots <= 0 || free.tokens <= 0 || magnitude > 62 || (std::int64_t{1} << magnitude) - 1 > most) return false;
  const std::uint32_t other = queue_.fitting(c, most, head);
  if (other != shed_index::none && shed_index::bucket_of(tickets_[other].tokens) >= magnitude) return false;
  return ledger_.room(c, what.asked) == constraint::none && rate_bound(what) == constraint::none;
}

bool admission::state::would_start(const candidate& what) {
  if (reopening_.closed(now_) || (ledger_.free().slots <= 0 && slotless_ == 0 && what.asked.slots != 0)) return false;
  if (!in_time(what) || tenants_[what.tenant].rates.first_short(what.charge(), now_) != rate_axis::none) return false;
  const bool first = would_come_first(what);
  bool blocked = false;
  for (const bool floors : {true, false}) {
    for (std::size_t rank = 0; rank < class_count_; ++rank) {
      const std::size_t c = by_priority_[rank];
      const bool own = first && c == what.workload;
      if (!own && (queue_.waiting_classes() >> c & 1U) == 0) continue;
      instant until;
      const std::uint32_t head = own ? nowhere : look_for_next(c, until);
      const candidate next = own ? what : candidate_of(head);
      if (ledger_.within_floor(c, next.asked) != floors) continue;
      constraint bound = ledger_.room(c, next.asked);
      if (bound == constraint::none) bound = provider_short(next);
      if (own || bound == constraint::none) return own && bound == constraint::none;
      if (bound != constraint::pool_slots && bound != constraint::pool_tokens && bound < constraint::provider_requests)
        continue;
      const bool known = blocked_ == id_of(head);
      const bool may = known ? passes_ < rules_.bypass.passes && now_ < after(blocked_since_, patience_for(head))
                             : rules_.bypass.passes > 0 && patience_for(head) > duration::zero();
      if (!blocked && !may) return false;
      blocked = true;
      if (c == what.workload && would_pass(what, head)) return true;
    }
  }
  return false;
}

constraint admission::state::would_be_shed(const candidate& what, bool parked) {
  const std::size_t magnitude = shed_index::bucket_of(what.asked.tokens);
  // It is the youngest: nobody of its own magnitude is worse.
  const auto is_worst = [&](std::size_t c) {
    const std::uint32_t worst = queue_.worst(c);
    if (worst == shed_index::none) return true;
    return c == what.workload && !parked && shed_index::bucket_of(tickets_[worst].tokens) <= magnitude;
  };
  if (queue_.size(what.workload) >= rules_.classes[what.workload].max_waiting) {
    return is_worst(what.workload) ? constraint::class_queue : constraint::none;
  }
  if (queue_.size() < rules_.max_waiting) return constraint::none;
  for (std::size_t rank = class_count_; rank-- > 0;) {
    const std::size_t c = by_priority_[rank];
    const bool own = c == what.workload;
    if (queue_.size(c) == queue_.parked(c) && (!own || parked)) continue;
    const account& kept = ledger_[c];
    const std::int64_t wanted = demand_[c].slots + (own ? what.asked.slots : 0);
    if (wanted > std::max<std::int64_t>(0, kept.floor.slots - kept.held.slots))
      return is_worst(c) ? constraint::queue : constraint::none;
  }
  return constraint::queue;
}

}  // namespace sluice::core
