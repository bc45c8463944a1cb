#include "core/wait_queue.hpp"

#include <algorithm>

namespace sluice::core {

wait_queue::wait_queue(tickets& all, fair_queue& flows) : tickets_(all), flows_(flows) {
  expiry_ = dary_heap<expiry, expiry_order>(expiry_order{this});
}

void wait_queue::reach() {
  places_.resize(tickets_.size());
  lane_of_.resize(tickets_.size());
}

void wait_queue::make_late(std::uint32_t index, std::uint64_t rank) {
  const std::uint32_t from = lane_of_[index];
  const std::uint32_t to = from / lanes_per_flow * lanes_per_flow + 2;
  const std::size_t c = tickets_[index].workload;
  at(from).waiting.erase(places_[index]);
  renew_first(at(from), from, c);
  lane_of_[index] = to;
  at(to).waiting.push({lane_key(tickets_[index].deadline, rank), index, static_cast<std::uint32_t>(rank)});
  renew_first(at(to), to, c);
}

std::uint32_t wait_queue::park(std::uint32_t index, std::uint64_t rank, std::uint32_t lane) {
  if (lane == nowhere && unused_aside_.empty()) {
    unused_aside_.push_back(lanes_aside_);
    aside_.reach(lanes_aside_++, lane_order{&tickets_, &places_});
  }
  if (lane == nowhere) {
    lane = unused_aside_.back();
    unused_aside_.pop_back();
  }
  join(index, lane | parked_bit, rank);
  ++classes_[tickets_[index].workload].parked;
  return lane;
}

void wait_queue::renew_expiry(lane& own, std::uint32_t which, std::uint64_t key) {
  if (own.expiry_place == nowhere) {
    expiry_.push({key, which, which});
  } else if (key == no_deadline_key) {
    expiry_.erase(own.expiry_place);
    own.expiry_place = nowhere;
  } else {
    expiry_.update(own.expiry_place, {key, which, which});
  }
  own.expiry_key = key;
}

void wait_queue::pause(std::uint32_t flow, instant until) {
  flows_.pause(flow, until);
  renew_bit(flows_[flow].workload);
}

void wait_queue::resume(std::uint32_t flow) {
  flows_.leave(flow);
  flows_.enter(flow);
  renew_bit(flows_[flow].workload);
}

std::uint32_t wait_queue::resume_one(instant now) {
  const std::uint32_t resumed = flows_.resume_one(now);
  if (resumed != nowhere) renew_bit(flows_[resumed].workload);
  return resumed;
}

void wait_queue::index_by_size(std::size_t c) {
  shed_index& by_size = classes_[c].by_size;
  if (by_size.active()) return;
  by_size.start();
  links_.resize(tickets_.size());
  sorted_.clear();
  for (std::uint32_t index = 0; index < tickets_.size(); ++index) {
    const ticket& each = tickets_[index];
    if (each.state == ticket::phase::waiting && each.workload == c && !is_parked(index)) sorted_.push_back(index);
  }
  const auto sequence_of = [this](std::uint32_t index) { return tickets_[index].sequence; };
  std::ranges::sort(sorted_, {}, sequence_of);
  for (const std::uint32_t index : sorted_) by_size.add(links_, index, tickets_[index].tokens, sequence_of);
}

std::uint32_t wait_queue::worst(std::size_t c) {
  index_by_size(c);
  return classes_[c].by_size.worst();
}

std::uint32_t wait_queue::fitting(std::size_t c, std::int64_t tokens, std::uint32_t except) {
  index_by_size(c);
  return classes_[c].by_size.fitting(links_, tokens, except);
}

void wait_queue::order_by_cost(std::size_t c, const std::function<std::uint64_t(std::uint32_t)>& cost_of) {
  flows_.stir(c);
  cost_order& by_cost = classes_[c].by_cost;
  by_cost.start(cost_places_);
  cost_places_.resize(tickets_.size());
  for (std::uint32_t index = 0; index < tickets_.size(); ++index) {
    const ticket& each = tickets_[index];
    if (each.state != ticket::phase::waiting || each.workload != c || is_parked(index)) continue;
    by_cost.add(index, cost_of(index), each.sequence);
  }
}

void wait_queue::add_cost(std::uint32_t index, std::uint64_t cost) {
  if (cost_places_.size() < tickets_.size()) cost_places_.resize(tickets_.size());
  classes_[tickets_[index].workload].by_cost.add(index, cost, tickets_[index].sequence);
}

}  // namespace sluice::core
