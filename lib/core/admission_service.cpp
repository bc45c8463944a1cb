// Who starts next, who has no time left, and who goes when the queue is full.
#include "core/admission_state.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace sluice::core {
namespace {

constexpr duration shortest_look = std::chrono::milliseconds(1);

}  // namespace

void admission::state::settle(effects& out) {
  expire(out);
  serve(out);
  finish_event(out);
}

void admission::state::finish_event(effects& out) {
  if (elastic_classes_ != 0) move_limits(out);
  restore(out);
  ask_for_wake(out);
  if (!pending_.empty()) flush_thresholds(out);
}

bool admission::state::expire_all(effects& out) {
  while (queue_.earliest_deadline() <= now_) {
    const std::uint32_t index = queue_.earliest();
    const std::size_t c = tickets_[index].workload;
    count_miss(c);
    reject_waiter(index, reason::deadline_in_queue, bound_of(index), out);
    watch_overload(c);
  }
  return true;
}

void admission::state::find_next(std::size_t c) noexcept {
  next_waiter& found = next_[c];
  found.index = look_for_next(c, found.until);
  found.asked = tickets_[found.index].asked();
  found.arrived = tickets_[found.index].arrived;
  flows_.settle(c);
  unlooked_ |= 1U << c;
}

std::uint32_t admission::state::look_for_next(std::size_t c, instant& until) const noexcept {
  until = never;
  // Nobody is forgotten: who has waited for long goes by its place.
  const std::uint32_t late =
      rules_.classes[c].start_within > duration::zero() ? queue_.late_of(flows_.first(c)) : nowhere;
  const bool aged = late != nowhere && now_ - tickets_[late].arrived >= rules_.overload.age_cap;
  const std::uint32_t head = aged ? late : queue_.head(c);
  if (late != nowhere && !aged) until = after(tickets_[late].arrived, rules_.overload.age_cap);
  if (!queue_.ordered_by_cost(c)) return head;
  until = instant::min();
  if (now_ - tickets_[head].arrived >= rules_.overload.age_cap) return head;
  const std::uint32_t cheapest = queue_.cheapest(c);
  return cheapest == nowhere || flows_[flow_of(cheapest)].paused ? head : cheapest;
}

void admission::state::resume_flows() noexcept {
  for (std::uint32_t flow = queue_.resume_one(now_); flow != nowhere; flow = queue_.resume_one(now_)) {
    ledger_.queue(flows_[flow].workload, flows_[flow].slots, flows_[flow].tokens);
  }
}

void admission::state::resume_flow(std::uint32_t flow) {
  queue_.resume(flow);
  ledger_.queue(flows_[flow].workload, flows_[flow].slots, flows_[flow].tokens);
}

void admission::state::resume_all_flows() noexcept {
  for (std::uint32_t flow = queue_.resume_one(never); flow != nowhere; flow = queue_.resume_one(never)) {
    ledger_.queue(flows_[flow].workload, flows_[flow].slots, flows_[flow].tokens);
  }
}

std::uint32_t admission::state::forget_what_was_fine() noexcept {
  fine_ = {never, std::numeric_limits<std::size_t>::max(), learned_};
  return unlooked_ = ~std::uint32_t{0};
}

// Who is late already gains little by being served before those that need not be.
bool admission::state::found_fine(std::size_t c, const next_waiter& which, effects& out) {
  constexpr duration moment{1};
  const std::uint32_t index = which.index;
  instant until = which.until;
  if (rules_.feasibility.enabled && tickets_[index].deadline != never) {
    const instant latest = latest_start_of(index);
    if (now_ > latest) {
      count_miss(c);
      if (rules_.observe) {
        let_through(index, reason::infeasible, constraint::deadline, out);
      } else {
        reject_waiter(index, reason::infeasible, constraint::deadline, out);
      }
      watch_overload(c);
      return false;
    }
    until = std::min(until, after(latest, moment));
    if (pace_.known()) fine_.in_flight = std::min(fine_.in_flight, in_flight_);
  }
  if (const duration promise = rules_.classes[c].start_within; promise > duration::zero() && !queue_.is_late(index)) {
    if (now_ - which.arrived > promise) {
      queue_.make_late(index, place_of(index).rank);
      return false;
    }
    until = std::min(until, after(after(which.arrived, promise), moment));
  }
  fine_.until = std::min(fine_.until, until);
  unlooked_ &= ~(1U << c);
  return true;
}

void admission::state::prepare_heads(effects& out) {
  if (tenant_rates_) resume_flows();
  // Who goes may give back what others wait for, so that they wait for their turn from now on; and may change what is
  // to be expected of those that were found to be fine.
  for (std::uint32_t fine = 0;;) {
    const std::uint32_t waiting = queue_.waiting_classes();
    const std::uint32_t left = waiting & ~fine & (unlooked() | (tenant_rates_ ? waiting : 0));
    if (left == 0) return;
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    const next_waiter& next = next_in(c);
    const std::uint32_t index = next.index;
    if ((unlooked_ >> c & 1U) != 0 && !found_fine(c, next, out)) {
      fine = 0;
      continue;
    }
    fine |= 1U << c;
    if (!tenant_rates_) continue;
    const rate_cells& rates = tenants_[tenant_of(index)].rates;
    const rate_charge charge = candidate_of(index).charge();
    if (rates.first_short(charge, now_) == rate_axis::none) continue;
    fine &= ~(1U << c);
    const std::uint32_t flow = flow_of(index);
    ledger_.unqueue(c, flows_[flow].slots, flows_[flow].tokens);
    queue_.pause(flow, rates.earliest(charge, now_));
  }
}

inline bool admission::state::may_start_any() noexcept {
  rate_wake_ = never;
  if (reopening_.closed(now_)) return false;
  if (ledger_.free().slots > 0 || slotless_ != 0) return true;
  if (adaptive_.enabled()) note_adaptive_bound(queue_.waiting_classes());
  return false;
}

// Heads within their floor come first, then the others by priority. One that waits for room in the pool, or for the
// provider's rate, lets those behind it pass only within bounds; one that waits for something of its own stands in
// nobody's way.
choice admission::state::choose() {
  const std::uint32_t waiting = queue_.waiting_classes();
  // Whose next is within its floor, and who comes after those, by rank.
  std::uint32_t within = 0;
  std::uint32_t beyond = 0;
  for (std::size_t rank = 0; rank < class_count_; ++rank) {
    const std::size_t c = by_priority_[rank];
    if ((waiting >> c & 1U) == 0) continue;
    (entitled(c) ? within : beyond) |= 1U << rank;
  }
  bool blocked = false;
  for (std::uint32_t left : {within, beyond}) {
    for (; left != 0; left &= left - 1) {
      const auto rank = static_cast<std::size_t>(std::countr_zero(left));
      const std::size_t c = by_priority_[rank];
      const next_waiter& next = next_in(c);
      const std::uint32_t index = next.index;
      constraint bound = ledger_.room(c, next.asked);
      if (bound == constraint::none && provider_rated()) bound = provider_bound(index);
      if (bound == constraint::none) return {index, blocked};
      if (bound != constraint::pool_slots && bound != constraint::pool_tokens && bound < constraint::provider_requests)
        continue;
      if (bound == constraint::pool_slots && adaptive_.enabled()) adaptive_bound_at_ = now_;
      if (!blocked && !may_pass(index)) return {};
      blocked = true;
      if (const std::uint32_t other = small_one(c, index); other != nowhere) return {other, true};
    }
  }
  return {};
}

// What waits for something of its own class does not wait for the limit.
void admission::state::note_adaptive_bound(std::uint32_t waiting) noexcept {
  for (; waiting != 0 && adaptive_bound_at_ != now_; waiting &= waiting - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(waiting));
    if (ledger_.room(c, next_in(c).asked) == constraint::pool_slots) adaptive_bound_at_ = now_;
  }
}

constraint admission::state::provider_bound(std::uint32_t index) noexcept {
  const ticket& which = tickets_[index];
  const rate_charge charge{1, which.tokens - which.output, which.output};
  const bool fits =
      rates_.first_short(charge, now_) == rate_axis::none && reported_.first_short(charge, now_) == rate_axis::none;
  if (fits) return constraint::none;
  rate_wake_ = std::min(rate_wake_, std::max(rates_.earliest(charge, now_), reported_.earliest(charge, now_)));
  return constraint::provider_requests;
}

bool admission::state::may_pass(std::uint32_t head) noexcept {
  if (rules_.bypass.passes == 0) return false;
  if (blocked_ != id_of(head)) {
    blocked_ = id_of(head);
    passes_ = 0;
    blocked_since_ = now_;
  }
  return passes_ < rules_.bypass.passes && now_ < after(blocked_since_, patience_for(candidate_of(head)));
}

duration admission::state::patience_for(const candidate& head) const noexcept {
  const auto expected = expect(head);
  return expected ? std::min(rules_.bypass.patience, expected->total) : rules_.bypass.patience;
}

// What is sure to fit beside a head of the class, in tokens.
std::int64_t admission::state::most_beside(std::size_t c) const noexcept {
  const capacity free = ledger_.free();
  const account& own = ledger_[c];
  const std::int64_t beside = free.tokens - ledger_.needs_beside(c).tokens;
  const std::int64_t in_floor = std::min(free.tokens, own.floor.tokens - own.held.tokens);
  std::int64_t most = std::min(std::max(beside, in_floor), own.ceiling.tokens - own.held.tokens);
  if (rates_.limited()) {
    for (const rate_axis axis : {rate_axis::input, rate_axis::output})
      most = std::min(most, rates_.available(axis, now_));
  }
  for (const rate_axis axis : {rate_axis::input, rate_axis::output, rate_axis::tokens}) {
    most = std::min(most, reported_.available(axis, now_));
  }
  return most;
}

// One of the same class that is sure to fit beside its head.
std::uint32_t admission::state::small_one(std::size_t c, std::uint32_t head) {
  const capacity free = ledger_.free();
  const std::size_t others = queue_.size(c) - (head == nowhere ? 0 : 1);
  if (free.slots <= 0 || free.tokens <= 0 || others == 0) return nowhere;
  const std::uint32_t index = queue_.fitting(c, most_beside(c), head);
  if (index == shed_index::none || flows_[flow_of(index)].paused) return nowhere;
  if (ledger_.room(c, tickets_[index].asked()) != constraint::none || hopeless(index)) return nowhere;
  return rate_bound(candidate_of(index)) == constraint::none ? index : nowhere;
}

void admission::state::serve(effects& out) {
  while (!queue_.empty()) {
    if (tenant_rates_ || (heads_change_ && unlooked() != 0)) prepare_heads(out);
    if (!may_start_any()) break;
    const choice next = choose();
    if (next.index == nowhere) break;
    start_waiter(next, out);
  }
  if (reopening_.active() && !reopening_.closed(now_)) reopening_.rest(now_);
}

void admission::state::dequeue(std::uint32_t index) {
  const ticket& which = tickets_[index];
  const std::size_t c = which.workload;
  if (which.slots == 0) --slotless_;
  demand_[c].slots -= which.slots;
  demand_[c].tokens -= which.tokens;
  if (queue_.is_parked(index)) {
    detail& more = detail_of(index);
    if (queue_.remove(index)) runs_.parked(more.parked_at) = nowhere;
    more.parked_at = no_run;
  } else {
    const std::uint32_t flow = flow_of(index);
    const bool paused = flows_[flow].paused;
    if (!paused) ledger_.unqueue(c, which.slots, which.tokens);
    static_cast<void>(queue_.remove(index));
    // Perhaps it was what the others of its tenant waited behind.
    if (paused && flows_[flow].waiting != 0) resume_flow(flow);
  }
  if (queue_.size(c) == 0) latest_deadline_[c] = instant{};
  if (needs_time_ && queue_.empty()) drain_.busy(now_, false);
}

void admission::state::start_waiter(const choice& which, effects& out) {
  const std::uint32_t index = which.index;
  const std::size_t c = tickets_[index].workload;
  if (which.passing) ++passes_;
  // While it still waits, so that its turn moves on instead of beginning anew.
  charge_start(index);
  dequeue(index);
  grant_ticket(index);
  ++counts_[c].admitted_after_wait_total;
  lacking_since_[c] = never;
  out.list.push_back({effect::kind::granted, 0, id_of(index), tickets_[index].tag, {}});
}

void admission::state::ask_for_wake(effects& out) {
  if (queue_.empty()) {
    if (std::exchange(armed_, never) != never) out.list.push_back({effect::kind::wake_at, 0, {}, 0, never});
    return;
  }
  instant next = std::min({armed_, queue_.earliest_deadline(), flows_.next_resume(), rate_wake_});
  if (reopening_.closed(now_)) next = std::min(next, reopening_.opens_at());
  if (lacking_ != 0 || elastic_classes_ != 0) next = std::min(next, next_change());
  if (next >= armed_) return;
  armed_ = next;
  out.list.push_back({effect::kind::wake_at, 0, {}, 0, next});
}

instant admission::state::next_change() noexcept {
  instant next = never;
  if (!stoppable_.empty()) {
    for (std::uint32_t left = lacking_; left != 0; left &= left - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(left));
      // One that is due has been tried in this event, and is tried again in each.
      if (const instant due = restore_at(c); due > now_) next = std::min(next, due);
    }
  }
  for (std::uint32_t left = elastic_classes_; left != 0; left &= left - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    if (queue_.size(c) == 0) continue;
    // What was looked at now and did not move is looked at again in half a window.
    const instant again = after(now_, std::max<duration>(rules_.classes[c].elastic.window / 2, shortest_look));
    next = std::min(next, elastic_[c].next_update() > now_ ? elastic_[c].next_update() : again);
  }
  return next;
}

bool admission::state::shed(std::uint32_t newcomer, effects& out) {
  const std::size_t c = tickets_[newcomer].workload;
  if (queue_.size(c) > rules_.classes[c].max_waiting) {
    const std::uint32_t worst = queue_.worst(c);
    shed_one(worst == shed_index::none ? newcomer : worst, newcomer, constraint::class_queue, out);
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
    if (queue_.size(c) == queue_.parked(c)) continue;
    const account& own = ledger_[c];
    if (demand_[c].slots > std::max<std::int64_t>(0, own.floor.slots - own.held.slots)) return c;
  }
  return max_workloads;
}

}  // namespace sluice::core
