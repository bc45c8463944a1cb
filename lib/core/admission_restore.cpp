// Restoration of floors: when a class has waited long enough for what it lent, and who is stopped for it.
#include "core/admission_state.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::core {

// What counts is the oldest head that has waited within the floor since the class last got something: that others come
// with nearer deadlines does not make the wait start anew.
void admission::state::note_lack() noexcept {
  std::uint32_t over = std::exchange(lacking_, 0);
  for (std::uint32_t left = queue_.waiting_classes(); left != 0; left &= left - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    // Only what asks for nothing at all can be within a floor of which nothing is needed.
    if ((ledger_[c].need == capacity{} && slotless_ == 0) || !entitled(c)) continue;
    lacking_ |= 1U << c;
    lacking_since_[c] = std::min(lacking_since_[c], next_in(c).arrived);
  }
  for (over &= ~lacking_; over != 0; over &= over - 1) {
    lacking_since_[static_cast<std::size_t>(std::countr_zero(over))] = never;
  }
}

instant admission::state::restore_at(std::size_t c) noexcept {
  if (lacking_since_[c] == never) return never;
  const ticket& head = tickets_[next_of(c)];
  const instant due = after(lacking_since_[c], rules_.classes[c].restore_within);
  if (head.deadline == never) return due;
  return std::min(due, after(head.arrived, (head.deadline - head.arrived) / 2));
}

void admission::state::restore_floors(effects& out) {
  note_lack();
  if (stoppable_.empty() || lacking_ == 0) return;
  capacity target{};
  for (std::size_t rank = 0; rank < class_count_; ++rank) {
    const std::size_t c = by_priority_[rank];
    if (restore_at(c) > now_) continue;
    target.slots += ledger_[c].need.slots;
    target.tokens += ledger_[c].need.tokens;
    reclaim(c, target, out);
  }
}

// Nearly done: what it would waste is more than what it still holds up.
bool admission::state::nearly_done(const grant& running) const noexcept {
  const std::int64_t output = tickets_[running.ticket].output;
  return output > 0 && running.used.output_tokens >= output - output / 5;
}

// What is reported counts; of what is not, the service model's idea of how far it has come.
std::int64_t admission::state::sunk_in(const grant& running) const noexcept {
  const std::int64_t reported = running.used.input_tokens + running.used.output_tokens;
  if (reported > 0 || services_.empty()) return reported;
  const candidate what = candidate_of(running.ticket);
  const auto expected = expect(what);
  const std::int64_t input = what.asked.tokens - what.output;
  if (!expected || expected->to_first_token <= duration::zero()) return 0;
  const double part =
      static_cast<double>((now_ - running.since).count()) / static_cast<double>(expected->to_first_token.count());
  return static_cast<std::int64_t>(std::min(part, 1.0) * static_cast<double>(input));
}

bool admission::state::may_be_listed(const ticket& which) const noexcept {
  return rules_.classes[which.workload].preemptible && which.preemptions < rules_.max_preemptions;
}

void admission::state::reclaim(std::size_t c, capacity target, effects& out) {
  const capacity free = ledger_.free();
  const capacity missing{target.slots - free.slots - reclaiming_.slots,
                         target.tokens - free.tokens - reclaiming_.tokens};
  if (missing.slots <= 0 && missing.tokens <= 0) return;
  victims_.clear();
  borrowings borrowed{};
  for (std::size_t rank = class_count_; rank-- > 0;) {
    const std::size_t from = by_priority_[rank];
    if (rules_.classes[from].priority >= rules_.classes[c].priority) break;
    const account& own = ledger_[from];
    borrowed[from] = {own.held.slots - stopping_[from].slots - own.floor.slots,
                      own.held.tokens - stopping_[from].tokens - own.floor.tokens};
    for (std::uint32_t index = stoppable_.newest(from); index != no_grant; index = grants_[index].older) {
      const grant& running = grants_[index];
      if (nearly_done(running)) continue;
      victims_.add(
          {index, {tickets_[running.ticket].slots, running.hold}, sunk_in(running), rank, from, running.number});
    }
  }
  for (const victim& one : victims_.choose(missing, borrowed)) {
    grant& stopped = grants_[one.grant];
    stopped.stopping = true;
    stoppable_.remove(one.workload, one.grant);
    reclaiming_ = {reclaiming_.slots + one.part.slots, reclaiming_.tokens + one.part.tokens};
    capacity& own = stopping_[one.workload];
    own = {own.slots + one.part.slots, own.tokens + one.part.tokens};
    record_preemption(stopped.ticket);
    out.list.push_back({effect::kind::preempt, 0, id_of(stopped.ticket), tickets_[stopped.ticket].tag, {}});
  }
}

}  // namespace sluice::core
