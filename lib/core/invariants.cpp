#include "core/admission_state.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace sluice::core {
namespace {

struct sums {
  capacity held{};
  capacity stopping{};
  std::int64_t queued_slots = 0;
  wide queued_tokens = 0;
  std::int64_t asked_slots = 0;
  wide asked_tokens = 0;
  std::size_t waiting = 0;
  std::int64_t holding = 0;
};

std::string at(const char* rule, std::size_t c, std::int64_t has, std::int64_t should) {
  return std::string(rule) + " (class " + std::to_string(c) + ": " + std::to_string(has) + ", should be " +
         std::to_string(should) + ")";
}

}  // namespace

// What runs have set aside is what their requests hold and wait with.
std::optional<std::string> admission::state::broken_runs() const {
  std::vector<std::array<wide, budget_axis_count>> aside(runs_.cells());
  for (std::uint32_t index = 0; index < tickets_.size(); ++index) {
    const ticket& which = tickets_[index];
    if (which.state == ticket::phase::unknown || !which.detailed) continue;
    const detail& more = detail_of(index);
    if (which.state == ticket::phase::waiting && more.run != no_run && more.paid == queue_.is_parked(index))
      return "I1: a waiter in a run is neither paid for nor parked";
    if (!more.paid) continue;
    const spending price = candidate_of(index).price();
    for (std::uint32_t node = more.run; node != no_run; node = runs_.payer_above(node)) {
      const std::array<wide, budget_axis_count> each{price.tokens, price.calls, price.tool_calls, price.money};
      for (std::size_t axis = 0; axis < budget_axis_count; ++axis) aside[node][axis] += each[axis];
    }
  }
  for (std::uint32_t node = 0; node < runs_.cells(); ++node) {
    const run_node& one = runs_[node];
    if (!one.kept || one.funding != run_funding::carve || one.parent == no_run) continue;
    for (std::uint32_t above = one.parent; above != no_run; above = runs_.payer_above(above)) {
      for (std::size_t axis = 0; axis < budget_axis_count; ++axis) {
        if (one.accounts[axis].limit != unlimited) aside[above][axis] += one.accounts[axis].limit;
      }
    }
  }
  for (std::uint32_t node = 0; node < runs_.cells(); ++node) {
    for (std::size_t axis = 0; runs_[node].kept && axis < budget_axis_count; ++axis) {
      const budget_account& own = runs_[node].accounts[axis];
      if (own.reserved() != aside[node][axis]) return "I1: what run " + std::to_string(node) + " has set aside differs";
      if (own.spent < 0 || own.reserved() < 0) return "I2: an account of a run is negative";
    }
  }
  return std::nullopt;
}

// Without passing: beside a head that waits for room it is no fault to wait.
bool admission::state::somebody_fits() const noexcept {
  if (reopening_.closed(now_)) return false;
  for (const bool floors : {true, false}) {
    for (std::size_t rank = 0; rank < class_count_; ++rank) {
      const std::size_t c = by_priority_[rank];
      if ((queue_.waiting_classes() >> c & 1U) == 0) continue;
      instant until;
      const candidate what = candidate_of(look_for_next(c, until));
      if (ledger_.within_floor(c, what.asked) != floors) continue;
      const constraint bound = ledger_.room(c, what.asked);
      if (bound == constraint::none && rate_bound(what) == constraint::none) return true;
      if (bound == constraint::none || bound == constraint::pool_slots || bound == constraint::pool_tokens)
        return false;
    }
  }
  return false;
}

std::optional<std::string> admission::state::broken_invariant() const {
  std::array<sums, max_workloads> counted{};
  retry_window::repeats repeats{};
  for (std::uint32_t index = 0; index < tickets_.size(); ++index) {
    const ticket& which = tickets_[index];
    sums& own = counted[which.workload];
    if (which.state == ticket::phase::waiting) {
      if (which.repeats) repeats = {repeats.tokens + which.tokens, repeats.count + 1};
      ++own.waiting;
      own.asked_slots += which.slots;
      own.asked_tokens += which.tokens;
      if (!queue_.is_parked(index) && !flows_[flow_of(index)].paused) {
        own.queued_slots += which.slots;
        own.queued_tokens += which.tokens;
      }
      if (which.deadline <= now_) return "I4: a waiter whose deadline has passed is still waiting";
    } else if (which.state == ticket::phase::holding) {
      const grant& held = grants_[which.grant];
      if (held.ticket != index) return "I4: a grant belongs to another request";
      ++own.holding;
      own.held = {own.held.slots + which.slots, own.held.tokens + held.hold};
      if (held.hold < 0) return "I2: a hold is negative";
      if (held.stopping) own.stopping = {own.stopping.slots + which.slots, own.stopping.tokens + held.hold};
    }
  }

  capacity held{};
  capacity needs{};
  capacity reclaiming{};
  std::size_t waiting = 0;
  std::int64_t holding = 0;
  for (std::size_t c = 0; c < rules_.classes.size(); ++c) {
    const sums& own = counted[c];
    const account& kept = ledger_[c];
    if (kept.held.slots != own.held.slots) return at("I1: slots held", c, kept.held.slots, own.held.slots);
    if (kept.held.tokens != own.held.tokens) return at("I1: tokens held", c, kept.held.tokens, own.held.tokens);
    if (kept.queued_slots != own.queued_slots) return at("I1: slots queued", c, kept.queued_slots, own.queued_slots);
    if (kept.queued_tokens != own.queued_tokens) return "I1: tokens queued differ";
    if (demand_[c].slots != own.asked_slots || demand_[c].tokens != own.asked_tokens) return "I1: demand differs";
    if (counts_[c].in_flight != own.holding) return at("I1: in flight", c, counts_[c].in_flight, own.holding);
    if (queue_.size(c) != own.waiting) return "I1: the queue's size differs";
    if (kept.held.slots < 0 || kept.held.tokens < 0) return "I2: an account is negative";
    if (stopping_[c] != own.stopping) return at("I1: stopping", c, stopping_[c].tokens, own.stopping.tokens);
    held = {held.slots + own.held.slots, held.tokens + own.held.tokens};
    needs = {needs.slots + kept.need.slots, needs.tokens + kept.need.tokens};
    reclaiming = {reclaiming.slots + own.stopping.slots, reclaiming.tokens + own.stopping.tokens};
    waiting += own.waiting;
    holding += own.holding;
  }
  const capacity free = ledger_.free();
  const capacity total = ledger_.total();
  if (ledger_.slot_limit() - free.slots != held.slots || total.tokens - free.tokens != held.tokens)
    return "I1: what is free and what is held do not add up to the pool";
  if (reclaiming != reclaiming_) return "I1: what is being reclaimed is not what is stopping";
  if (waiting != queue_.size()) return "I1: the queue's size differs from the number of waiters";
  if (holding != static_cast<std::int64_t>(in_flight_)) return "I1: in flight differs from the number of grants";
  if (in_flight_ == 0 && (held.slots != 0 || held.tokens != 0))
    return "I7: nothing is in flight, but something is held";
  for (std::size_t c = 0; c < rules_.classes.size(); ++c) {
    const account& kept = ledger_[c];
    const capacity beside = ledger_.needs_beside(c);
    if (beside.slots + kept.need.slots != needs.slots || beside.tokens + kept.need.tokens != needs.tokens)
      return "I5: the sum of needs differs";
    const std::int64_t need =
        std::min(std::max<std::int64_t>(0, kept.floor.slots - kept.held.slots), kept.queued_slots);
    if (kept.need.slots != need) return at("I5: need in slots", c, kept.need.slots, need);
  }
  if (retries_.waiting().tokens != repeats.tokens || retries_.waiting().count != repeats.count)
    return "I1: what waits to be tried again is not what is set aside for it";
  if (!closed_ && somebody_fits()) return "I3: a waiter that fits is left waiting";
  if (auto wrong = broken_runs()) return wrong;
  if (closed_ && waiting != 0) return "I4: the gate is closed, and something waits";
  return std::nullopt;
}

}  // namespace sluice::core
