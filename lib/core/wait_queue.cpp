#include "core/wait_queue.hpp"

#include <utility>

namespace sluice::core {

wait_queue::wait_queue(tickets& all) : tickets_(all) {
  for (auto& each : classes_) each.heap = dary_heap<item, order>(order{&places_});
}

// Deadlines come before all that have none, and those are in order of age: one number says both.
std::uint64_t wait_queue::key_of(const ticket& which) noexcept {
  if (which.deadline == never) return no_deadline + which.sequence;
  return static_cast<std::uint64_t>(which.deadline.time_since_epoch().count() + key_origin);
}

void wait_queue::push(std::uint32_t index) {
  if (places_.size() < tickets_.size()) {
    places_.resize(tickets_.size());
    links_.resize(tickets_.size());
  }
  const ticket& which = tickets_[index];
  one_class& own = classes_[which.workload];
  own.costs.add(links_, index, which.tokens, [this](std::uint32_t other) { return tickets_[other].sequence; });
  own.heap.push({key_of(which), index, static_cast<std::uint32_t>(which.sequence)});
  ++size_;
  waiting_ |= 1U << which.workload;
}

void wait_queue::remove(std::uint32_t index) {
  const ticket& which = tickets_[index];
  one_class& own = classes_[which.workload];
  own.costs.remove(links_, index, which.tokens);
  own.heap.erase(places_[index]);
  --size_;
  if (own.heap.empty()) {
    waiting_ &= ~(1U << which.workload);
  } else {
    __builtin_prefetch(&tickets_[own.heap.front().index]);
  }
}

}  // namespace sluice::core
