/// \file
/// The steps of the state machine that are taken at every request: here, so that they cost no call.
#pragma once

#include "core/admission_state.hpp"

namespace sluice::core {

inline const ticket* admission::state::find(request_id id) const noexcept {
  if (id.index >= tickets_.size()) return nullptr;
  const ticket& which = tickets_[id.index];
  return which.generation == id.generation && which.state != ticket::phase::unknown ? &which : nullptr;
}

inline bool admission::state::is(request_id id, ticket::phase phase) const noexcept {
  const ticket* which = find(id);
  return which != nullptr && which->state == phase;
}

[[gnu::always_inline]] inline void admission::state::grant_ticket(std::uint32_t index) noexcept {
  ticket& which = tickets_[index];
  const std::size_t c = which.workload;
  const std::uint32_t place = grants_.take();
  which.grant = place;
  which.state = ticket::phase::holding;
  ledger_.take(c, which.asked());
  grant& made = grants_[place];
  made.hold = which.tokens;
  made.used = {};
  made.since = now_;
  made.revision = rules_.revision;
  made.number = next_grant_++;
  made.first_token = 0;
  made.ticket = index;
  made.listed = made.stoppable = made.stopping = false;
  if (which.detailed && detail_of(index).run != no_run) runs_.start(detail_of(index).run);
  ++in_flight_;
  made.beside = static_cast<std::uint16_t>(in_flight_ < 0xffff ? in_flight_ : 0xffff);
  class_statistics& counts = counts_[c];
  ++counts.in_flight;
  ++counts.admitted_total;
  add(counts.reserved_tokens_total, which.tokens);
}

[[gnu::always_inline]] inline void admission::state::forget(std::uint32_t index) noexcept {
  ticket& gone = tickets_[index];
  if (gone.detailed) [[unlikely]]
    drop_detail(index);
  gone.state = ticket::phase::unknown;
  // Zero names nobody.
  if (++gone.generation == 0) gone.generation = 1;
  tickets_.give(index);
}

[[gnu::always_inline]] inline std::uint32_t admission::state::make_plain_ticket(const request& what) {
  const std::uint32_t index = tickets_.take();
  ticket& made = tickets_[index];
  made.tokens = what.cost.tokens;
  made.output = what.cost.output_tokens;
  made.slots = static_cast<std::int32_t>(what.cost.slots);
  made.tag = what.tag;
  made.deadline = never;
  made.workload = what.workload.index();
  made.detailed = made.observed = made.repeats = false;
  made.kind = what.kind;
  if (what.age.sequence != 0 && what.age.sequence < next_sequence_) [[unlikely]] {
    made.sequence = what.age.sequence;
    made.arrived = what.age.arrived < instant{} ? instant{} : what.age.arrived > now_ ? now_ : what.age.arrived;
    made.preemptions = what.age.preemptions;
  } else {
    made.sequence = next_sequence_++;
    made.arrived = now_;
    made.preemptions = 0;
  }
  return index;
}

[[gnu::always_inline]] inline void admission::state::count_attempt(std::uint32_t index) noexcept {
  const ticket& which = tickets_[index];
  if (which.kind != attempt::first) [[unlikely]]
    return count_repeat(index);
  // What was preempted has been counted when it started before.
  if (which.preemptions == 0) retries_.first(which.tokens, now_);
}

// The flow of nobody in particular in class c is number c: they were opened first.
[[gnu::always_inline]] inline void admission::state::charge_start(std::uint32_t index) noexcept {
  const ticket& which = tickets_[index];
  flows_.serve(flow_of(index), which.tokens);
  count_attempt(index);
  if (reopening_.active()) [[unlikely]]
    start_after_pause();
  if (!rated()) return;
  const rate_charge charge{1, which.tokens - which.output, which.output};
  rates_.take(charge, now_);
  reported_.take(charge, now_);
  tenants_[tenant_of(index)].rates.take(charge, now_);
}

}  // namespace sluice::core
