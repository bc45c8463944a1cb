#include "core/admission_state.hpp"
#include "core/saturating.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace sluice::core {
namespace {

std::int64_t narrowed(wide value) noexcept {
  constexpr wide most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, most));
}

/// The constraint of one axis among those that begin with `first`.
constraint rate_constraint(constraint first, rate_axis axis) noexcept {
  return static_cast<constraint>(static_cast<int>(first) + static_cast<int>(axis) -
                                 static_cast<int>(rate_axis::requests));
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
  for (auto member :
       {&class_statistics::admitted_total, &class_statistics::admitted_after_wait_total,
        &class_statistics::rejected_total, &class_statistics::expired_total, &class_statistics::shed_total,
        &class_statistics::cancelled_total, &class_statistics::preempted_total, &class_statistics::infeasible_total,
        &class_statistics::unaffordable_total, &class_statistics::retries_refused_total,
        &class_statistics::observed_total, &class_statistics::reserved_tokens_total,
        &class_statistics::consumed_tokens_total, &class_statistics::refunded_tokens_total,
        &class_statistics::overrun_tokens_total, &class_statistics::wasted_tokens_total}) {
    add(all.*member, one.*member);
  }
}

}  // namespace

constraint admission::state::bound_of(const budget_verdict& verdict) noexcept {
  switch (verdict.axis) {
    case budget_axis::tokens: return constraint::budget_tokens;
    case budget_axis::calls: return constraint::budget_calls;
    case budget_axis::tool_calls: return constraint::budget_tool_calls;
    case budget_axis::money: break;
  }
  return constraint::budget_money;
}

constraint admission::state::impossible_rate(const candidate& what) const noexcept {
  if (!rates_.limited() && !tenant_rates_) return constraint::none;
  const rate_charge charge = what.charge();
  if (const rate_axis axis = rates_.possible(charge); axis != rate_axis::none)
    return rate_constraint(constraint::provider_requests, axis);
  const rate_axis axis = tenants_[what.tenant].rates.possible(charge);
  return axis == rate_axis::none ? constraint::none : rate_constraint(constraint::tenant_requests, axis);
}

constraint admission::state::provider_short(const candidate& what) const noexcept {
  if (!provider_rated()) return constraint::none;
  const rate_charge charge = what.charge();
  if (const rate_axis axis = rates_.first_short(charge, now_); axis != rate_axis::none)
    return rate_constraint(constraint::provider_requests, axis);
  const rate_axis axis = reported_.first_short(charge, now_);
  return axis == rate_axis::none ? constraint::none : rate_constraint(constraint::reported_requests, axis);
}

constraint admission::state::rate_bound(const candidate& what) const noexcept {
  if (const constraint bound = provider_short(what); bound != constraint::none || !tenant_rates_) return bound;
  const rate_axis axis = tenants_[what.tenant].rates.first_short(what.charge(), now_);
  return axis == rate_axis::none ? constraint::none : rate_constraint(constraint::tenant_requests, axis);
}

constraint admission::state::refined(const candidate& what, constraint bound) const noexcept {
  const account& own = ledger_[what.workload];
  const std::int64_t lent = ledger_.total().slots - ledger_.slot_limit();
  if (bound == constraint::pool_slots && lent > 0 && what.asked.slots <= ledger_.free().slots + lent)
    return constraint::adaptive_limit;
  if (bound == constraint::class_slots && what.asked.slots <= own.fixed_ceiling_slots - own.held.slots)
    return constraint::elastic_limit;
  return bound;
}

constraint admission::state::bound_of(std::uint32_t index, const candidate& what) const noexcept {
  const ticket& which = tickets_[index];
  if (which.state == ticket::phase::waiting && queue_.is_parked(index))
    return bound_of(runs_.check(what.run, what.price(), what.finalising));
  if (reopening_.closed(now_)) return reopening_.paused(now_) ? constraint::provider_pause : constraint::reopening;
  if (const constraint bound = ledger_.room(what.workload, what.asked); bound != constraint::none)
    return refined(what, bound);
  if (const constraint bound = rate_bound(what); bound != constraint::none) return bound;
  const bool waits = which.state == ticket::phase::waiting && (queue_.waiting_classes() >> what.workload & 1U) != 0;
  return waits && flows_.first(what.workload) != flow_of(index) ? constraint::tenant_turn : constraint::order;
}

void admission::state::describe(const candidate& what, constraint bound, decision& into) const noexcept {
  const std::size_t c = what.workload;
  into.workload = workload(static_cast<std::uint8_t>(c));
  into.bound = bound;
  into.revision = rules_.revision;
  into.asked = {what.asked.tokens, what.output, what.asked.slots};
  into.deadline = what.deadline;
  into.at = now_;
  if (c >= class_count_) return;
  const account& own = ledger_[c];
  const capacity others = ledger_.needs_beside(c);
  const capacity free = ledger_.free();
  std::int64_t wanted = 0;
  std::int64_t available = 0;
  const auto set = [&](std::int64_t limit, std::int64_t has, std::int64_t wants) {
    into.limit = limit;
    available = has;
    wanted = wants;
  };
  const auto set_rate = [&](const rate_cells& cells, rate_axis axis, std::int64_t wants) {
    if (cells.limited()) set(cells.burst(axis), cells.available(axis, now_), wants);
    into.could_start = cells.earliest(what.charge(), now_);
  };
  const auto set_reported = [&](rate_axis axis, std::int64_t wants) {
    set(reported_.limit(axis, now_), reported_.available(axis, now_), wants);
    into.could_start = reported_.earliest(what.charge(), now_);
  };
  switch (bound) {
    case constraint::pool_slots: set(ledger_.total().slots, free.slots, what.asked.slots); break;
    case constraint::adaptive_limit: set(ledger_.slot_limit(), free.slots, what.asked.slots); break;
    case constraint::pool_tokens: set(ledger_.total().tokens, free.tokens, what.asked.tokens); break;
    case constraint::class_slots:
      set(own.fixed_ceiling_slots, own.fixed_ceiling_slots - own.held.slots, what.asked.slots);
      break;
    case constraint::elastic_limit: set(own.ceiling.slots, own.ceiling.slots - own.held.slots, what.asked.slots); break;
    case constraint::class_tokens:
      set(own.ceiling.tokens, own.ceiling.tokens - own.held.tokens, what.asked.tokens);
      break;
    case constraint::protected_slots: set(ledger_.total().slots, free.slots - others.slots, what.asked.slots); break;
    case constraint::protected_tokens:
      set(ledger_.total().tokens, free.tokens - others.tokens, what.asked.tokens);
      break;
    case constraint::queue: set(limit_of(rules_.max_waiting), 0, 1); break;
    case constraint::class_queue: set(limit_of(rules_.classes[c].max_waiting), 0, 1); break;
    case constraint::provider_requests: set_rate(rates_, rate_axis::requests, 1); break;
    case constraint::provider_input: set_rate(rates_, rate_axis::input, what.charge().input); break;
    case constraint::provider_output: set_rate(rates_, rate_axis::output, what.charge().output); break;
    case constraint::tenant_requests: set_rate(tenants_[what.tenant].rates, rate_axis::requests, 1); break;
    case constraint::tenant_input: set_rate(tenants_[what.tenant].rates, rate_axis::input, what.charge().input); break;
    case constraint::tenant_output:
      set_rate(tenants_[what.tenant].rates, rate_axis::output, what.charge().output);
      break;
    case constraint::budget_tokens:
    case constraint::budget_calls:
    case constraint::budget_tool_calls:
    case constraint::budget_money: {
      if (what.run == no_run) break;
      const budget_verdict verdict = runs_.check(what.run, what.price(), what.finalising);
      set(verdict.limit, verdict.available, verdict.available + verdict.shortfall);
      break;
    }
    case constraint::provider_pause:
    case constraint::reopening: into.could_start = reopening_.opens_at(); break;
    case constraint::retry_budget: describe_retries(what, into); return;
    case constraint::reported_requests: set_reported(rate_axis::requests, 1); break;
    case constraint::reported_input: set_reported(rate_axis::input, what.charge().input); break;
    case constraint::reported_output: set_reported(rate_axis::output, what.charge().output); break;
    case constraint::reported_tokens: set_reported(rate_axis::tokens, what.asked.tokens); break;
    case constraint::none:
    case constraint::order:
    case constraint::tenant_turn:
    case constraint::deadline: break;
  }
  if (__builtin_sub_overflow(wanted, available, &into.shortfall))
    into.shortfall = std::numeric_limits<std::int64_t>::max();
  into.shortfall = std::max<std::int64_t>(0, into.shortfall);
  into.available = std::max<std::int64_t>(0, available);
  for (std::uint32_t left = queue_.populated_classes() & (above_[c] | 1U << c); left != 0; left &= left - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(left));
    into.ahead += queue_.size(other);
    add(into.ahead_tokens, narrowed(demand_[other].tokens));
  }
}

void admission::state::describe_as_it_is(std::uint32_t index, const candidate& what, constraint bound,
                                         decision& into) const noexcept {
  const ticket& which = tickets_[index];
  describe(what, bound, into);
  if (which.detailed) into.tenant = detail_of(index).who;
  into.waited = now_ - which.arrived;
}

decision admission::state::describe(std::uint32_t index, constraint bound) const noexcept {
  decision made;
  const candidate what = candidate_of(index);
  describe_as_it_is(index, what, bound, made);
  if (!needs_time_ || tickets_[index].state != ticket::phase::waiting) return made;
  const prospect expected = foresee(what, ahead_of(index), bound != constraint::deadline);
  made.expected_service = expected.service;
  if (made.could_start == never && !queue_.is_parked(index)) made.could_start = expected.start;
  return made;
}

void admission::state::count_rejection(std::size_t c, reason why) noexcept {
  if (c >= class_count_) return;
  class_statistics& counts = counts_[c];
  ++counts.rejected_total;
  if (why == reason::deadline_in_queue) ++counts.expired_total;
  if (why == reason::shed) ++counts.shed_total;
  if (why == reason::infeasible) ++counts.infeasible_total;
  if (why == reason::budget_exhausted) ++counts.unaffordable_total;
  if (why == reason::retry_budget) ++counts.retries_refused_total;
}

void admission::state::reject_waiter(std::uint32_t index, reason why, constraint bound, effects& out) {
  const ticket& which = tickets_[index];
  decision made = describe(index, bound);
  dequeue(index);
  // It is not ahead of itself.
  made.ahead -= made.ahead > 0 ? 1 : 0;
  made.ahead_tokens -= std::min(made.ahead_tokens, which.tokens);
  made.outcome = outcome::rejected;
  made.reason = why;
  // Against the limits as they are, not against what happens to be held.
  if (why == reason::impossible) made.available = made.limit;
  count_rejection(which.workload, why);
  record(made);
  out.list.push_back(
      {effect::kind::rejected, static_cast<std::uint32_t>(out.decisions.size()), id_of(index), which.tag, {}});
  out.decisions.push_back(made);
  release_reserved(index, out);
  forget(index);
}

decision admission::state::refusal_of(const request& what, const candidate& as, reason why,
                                      constraint bound) const noexcept {
  decision made;
  describe(as, bound, made);
  made.asked = what.cost;
  made.tenant = what.tenant;
  made.outcome = outcome::rejected;
  made.reason = why;
  made.deadline = what.deadline;
  if (why == reason::impossible) made.available = made.limit;
  return made;
}

void admission::state::reject_newcomer(const request& what, const candidate& as, reason why, constraint bound,
                                       effects& out) {
  const decision made = refusal_of(what, as, why, bound);
  count_rejection(as.workload, why);
  record(made);
  out.list.push_back({effect::kind::rejected, static_cast<std::uint32_t>(out.decisions.size()), {}, what.tag, {}});
  out.decisions.push_back(made);
}

void admission::state::let_through(std::uint32_t index, reason why, constraint bound, effects& out) {
  ticket& which = tickets_[index];
  decision made = describe(index, bound);
  made.outcome = why == reason::none ? outcome::waiting : outcome::rejected;
  made.reason = why;
  made.observed = true;
  record(made);
  if (which.state == ticket::phase::waiting) dequeue(index);
  // What would have waited is tried; what would have been refused is not, as far as others are concerned.
  if (why == reason::none) {
    count_attempt(index);
  } else if (which.kind != attempt::first) {
    ++attempts_[static_cast<std::size_t>(which.kind)];
  }
  release_reserved(index, out);
  which.tokens = which.output = 0;
  which.slots = 0;
  which.observed = true;
  grant_ticket(index);
  ++counts_[which.workload].observed_total;
  out.list.push_back({effect::kind::granted, 0, id_of(index), which.tag, {}});
}

void admission::state::record_wait(std::uint32_t index, const candidate& what) {
  if (!records_.on()) return;
  decision& made = records_.next();
  made = decision{};
  describe_as_it_is(index, what, bound_of(index, what), made);
  --made.ahead;
  made.ahead_tokens -= tickets_[index].tokens;
  made.outcome = outcome::waiting;
}

void admission::state::record_preemption(std::uint32_t index) {
  if (!records_.on()) return;
  decision& made = records_.next();
  made = describe(index, constraint::protected_slots);
  made.outcome = outcome::preempted;
  made.waited = grants_[tickets_[index].grant].since - tickets_[index].arrived;
}

std::optional<decision> admission::state::explain(request_id id) const {
  const ticket* which = find(id);
  if (which == nullptr) return std::nullopt;
  if (which->state == ticket::phase::waiting) {
    decision made = describe(id.index, bound_of(id.index));
    made.outcome = outcome::waiting;
    --made.ahead;
    made.ahead_tokens -= std::min(made.ahead_tokens, which->tokens);
    return made;
  }
  const grant& held = grants_[which->grant];
  decision made = describe(id.index, constraint::none);
  made.outcome = outcome::granted;
  made.observed = which->observed;
  made.revision = held.revision;
  made.waited = held.since - which->arrived;
  made.at = held.since;
  made.ahead = 0;
  made.ahead_tokens = 0;
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
  for (std::uint32_t index = 0; index < tickets_.size(); ++index) {
    if (tickets_[index].state == ticket::phase::waiting) tags.push_back(tickets_[index].tag);
  }
  return tags;
}

statistics admission::state::statistics() const {
  sluice::statistics all;
  all.revision = rules_.revision;
  all.total = rules_.total;
  all.class_count = class_count_;
  if (adaptive_.enabled()) all.adaptive_limit = adaptive_.limit();
  all.adaptive_reason = adaptive_.reason();
  all.attempts_total = attempts_;
  all.tenants = tenants_.size();
  all.runs = runs_.size();
  for (std::size_t c = 0; c < all.class_count; ++c) {
    const account& own = ledger_[c];
    class_statistics& one = all.classes[c];
    one = counts_[c];
    one.held = own.held;
    one.borrowed = {std::max<std::int64_t>(0, own.held.slots - own.floor.slots),
                    std::max<std::int64_t>(0, own.held.tokens - own.floor.tokens)};
    one.waiting = static_cast<std::int64_t>(queue_.size(c));
    one.queued = {demand_[c].slots, narrowed(demand_[c].tokens)};
    if ((elastic_classes_ >> c & 1U) != 0) one.elastic_limit = elastic_[c].cap();
    add_up(all.all, one);
  }
  const std::int64_t again =
      attempts_[static_cast<std::size_t>(attempt::retry)] + attempts_[static_cast<std::size_t>(attempt::hedge)];
  all.attempts_total[static_cast<std::size_t>(attempt::first)] = all.all.admitted_total - again;
  return all;
}

}  // namespace sluice::core
