#include "core/fair_queue.hpp"

namespace sluice::core {

fair_queue::fair_queue() noexcept {
  for (one_class& each : classes_) each.turns = dary_heap<turn, order>(order{&flows_});
  paused_ = dary_heap<rest, rest_order>(rest_order{&flows_});
}

std::uint32_t fair_queue::open(std::size_t c, std::uint32_t tenant, std::int64_t weight) {
  const std::uint32_t index = flows_.take();
  flow& made = flows_[index];
  made = flow{};
  made.tenant = tenant;
  made.workload = static_cast<std::uint8_t>(c);
  set_weight(index, weight);
  return index;
}

void fair_queue::pause(std::uint32_t index, instant until) {
  leave(index);
  flows_[index].paused = true;
  paused_.push({until, index, entries_++});
}

std::uint32_t fair_queue::resume_one(instant now) {
  if (paused_.empty() || paused_.front().until > now) return nowhere;
  const std::uint32_t index = paused_.front().index;
  leave(index);
  enter(index);
  return index;
}

void fair_queue::correct(std::uint32_t index, std::int64_t reserved, std::int64_t used) {
  flow& which = flows_[index];
  const std::uint64_t back = charge(which, reserved);
  const std::int64_t most = std::max(always_believed, believed_times * std::clamp<std::int64_t>(reserved, 1, largest));
  const std::uint64_t more = charge(which, std::min(used, most));
  const std::uint64_t old = which.finish;
  which.finish = more >= back ? old + (more - back) : old - std::min(old, back - more);
  // One that waits behind its own work moves with it; one that starts at the present of its class does not.
  if (!has_turn(which) || which.start != old) return;
  which.start = which.finish;
  stir(which.workload);
  one_class& own = classes_[which.workload];
  own.turns.update(which.place, {which.start, index, own.turns[which.place].number});
}

}  // namespace sluice::core
