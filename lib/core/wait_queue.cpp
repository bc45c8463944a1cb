#include "core/wait_queue.hpp"

#include <algorithm>
#include <utility>

namespace sluice::core {

wait_queue::wait_queue(tickets& all, fair_queue& flows) : tickets_(all), flows_(flows) {
  expiry_ = dary_heap<expiry, expiry_order>(expiry_order{this});
}

void wait_queue::know(std::uint32_t index) noexcept {
  const ticket& joining = tickets_[index];
  if (joining.sequence > last_.age) last_ = {joining.sequence, 0};
  ++size_;
  ++classes_[joining.workload].size;
  populated_ |= 1U << joining.workload;
}

void wait_queue::join(std::uint32_t index, std::uint32_t which, lane_rank rank) {
  if (places_.size() < tickets_.size()) {
    places_.resize(tickets_.size());
    lane_of_.resize(tickets_.size());
    line_of_.resize(tickets_.size());
  }
  lane_of_[index] = which;
  const ticket& joining = tickets_[index];
  lane& joined = at(which);
  joined.waiting.push(item_of(index, joining.deadline, rank));
  if (places_[index] == 0) renew_first(joined, which, joining.workload);
}

void wait_queue::take_out(std::uint32_t index) {
  const std::uint32_t which = lane_of_[index];
  const std::uint32_t place = places_[index];
  lane& from = at(which);
  from.waiting.erase(place);
  if (place == 0) renew_first(from, which, tickets_[index].workload);
}

void wait_queue::push(std::uint32_t index, const placement& where) {
  lanes_.reach(lanes_per_flow * where.flow + lanes_per_flow - 1, lane_order{&tickets_, &places_});
  const ticket& joining = tickets_[index];
  know(index);
  if (where.root == nowhere) {
    join(index, lanes_per_flow * where.flow + (where.continuing ? 1 : 0), {where.rank});
    line_of_[index] = nowhere;
  } else {
    join_run(index, where);
  }
  flow& mine = flows_[where.flow];
  mine.slots += joining.slots;
  mine.tokens += joining.tokens;
  if (mine.waiting++ == 0) {
    flows_.enter(where.flow);
    waiting_ |= 1U << joining.workload;
  }
  shed_index& by_size = classes_[joining.workload].by_size;
  if (!by_size.active()) return;
  if (links_.size() < tickets_.size()) links_.resize(tickets_.size());
  by_size.add(links_, index, joining.tokens, [this](std::uint32_t other) { return tickets_[other].sequence; });
}

void wait_queue::make_late(std::uint32_t index, std::uint64_t rank) {
  const std::uint32_t flow = flow_of(index);
  take_out(index);
  // It needs no turn of its run any more.
  if (line_of_[index] != nowhere) leave_run(index);
  line_of_[index] = nowhere;
  join(index, lanes_per_flow * flow + 2, {rank});
}

void wait_queue::join_run(std::uint32_t index, const placement& where) {
  const std::uint32_t own = lanes_per_flow * where.flow + (where.continuing ? 1 : 0);
  const run_line made{where.flow, where.root, index, nowhere};
  std::uint32_t place = line_of_run_.find(made.key());
  if (place == key_table::none) {
    if (unused_lines_.empty()) {
      unused_lines_.push_back(static_cast<std::uint32_t>(lines_.size()));
      lines_.emplace_back();
    }
    place = unused_lines_.back();
    unused_lines_.pop_back();
    lines_[place] = made;
    line_of_run_.insert(made.key(), place);
    join(index, own, {where.rank});
    line_of_[index] = place;
    return;
  }
  run_line& line = lines_[place];
  const std::uint32_t shown_lane = lane_of_[line.shown];
  const lane_item shown = at(shown_lane).waiting[places_[line.shown]];
  const lane_item item = item_of(index, tickets_[index].deadline, {where.rank});
  if (!lane_order{&tickets_, &places_}.before(item, shown)) {
    join(index, lane_aside_of(line), {where.rank});
  } else {
    const std::uint32_t other = std::exchange(line.shown, index);
    take_out(other);
    join(other, lane_aside_of(line), {tickets_[other].sequence});
    join(index, shown_lane, {where.rank});
  }
  line_of_[index] = place;
}

std::uint32_t wait_queue::lane_aside() {
  if (unused_aside_.empty()) {
    unused_aside_.push_back(lanes_aside_);
    aside_.reach(lanes_aside_++, lane_order{&tickets_, &places_});
  }
  const std::uint32_t taken = unused_aside_.back();
  unused_aside_.pop_back();
  return taken;
}

std::uint32_t wait_queue::lane_aside_of(run_line& line) {
  if (line.behind == nowhere) line.behind = lane_aside();
  return line.behind | behind_bit;
}

void wait_queue::leave_run(std::uint32_t index) {
  const std::uint32_t place = line_of_[index];
  run_line& line = lines_[place];
  if (line.behind != nowhere && line.shown == index) {
    // The turn of the run is over: whoever of it is next waits behind all that have come.
    line.shown = aside_[line.behind].waiting.front().index;
    take_out(line.shown);
    if (last_.turn != 0xffff) ++last_.turn;
    join(line.shown, lanes_per_flow * line.flow, last_);
  } else if (line.shown == index) {
    line_of_run_.erase(line.key());
    unused_lines_.push_back(place);
  }
  if (line.behind == nowhere || !aside_[line.behind].waiting.empty()) return;
  unused_aside_.push_back(std::exchange(line.behind, nowhere));
}

std::uint32_t wait_queue::park(std::uint32_t index, std::uint64_t rank, std::uint32_t lane) {
  if (lane == nowhere) lane = lane_aside();
  know(index);
  join(index, lane | parked_bit, {rank});
  ++classes_[tickets_[index].workload].parked;
  return lane;
}

bool wait_queue::remove(std::uint32_t index) {
  const ticket& leaving = tickets_[index];
  const std::size_t c = leaving.workload;
  const std::uint32_t which = lane_of_[index];
  one_class& own = classes_[c];
  take_out(index);
  --size_;
  if (--own.size == 0) populated_ &= ~(1U << c);
  if ((which & parked_bit) != 0) {
    --own.parked;
    if (!at(which).waiting.empty()) return false;
    unused_aside_.push_back(which & ~parked_bit);
    return true;
  }
  if (own.by_size.active()) own.by_size.remove(links_, index, leaving.tokens);
  if (own.by_cost.active()) own.by_cost.remove(cost_places_[index]);
  if (own.size == own.parked) own.by_size.stop();
  const std::uint32_t from = flow_of(index);
  const bool of_run = line_of_[index] != nowhere;
  if (of_run) leave_run(index);
  flow& mine = flows_[from];
  mine.slots -= leaving.slots;
  mine.tokens -= leaving.tokens;
  if (--mine.waiting == 0) {
    flows_.leave(from);
    renew_bit(c);
  } else if (!of_run && !lanes_[which].waiting.empty()) {
    __builtin_prefetch(&tickets_[lanes_[which].waiting.front().index]);
  }
  return false;
}

void wait_queue::renew_bit(std::size_t c) noexcept {
  if (flows_.size(c) == 0) {
    waiting_ &= ~(1U << c);
  } else {
    waiting_ |= 1U << c;
  }
}

// Few lanes change their first deadline in an event, and those without deadlines are not here at all.
void wait_queue::renew_first(lane& own, std::uint32_t which, std::size_t c) {
  flows_.stir(c);
  const std::uint64_t key =
      own.waiting.empty() ? no_deadline_key : std::min(own.waiting.front().key, no_deadline_key);
  if (key == own.expiry_key) return;
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
  std::vector<std::uint32_t> all;
  for (std::uint32_t index = 0; index < tickets_.size(); ++index) {
    const ticket& each = tickets_[index];
    if (each.state == ticket::phase::waiting && each.workload == c && !is_parked(index)) all.push_back(index);
  }
  const auto sequence_of = [this](std::uint32_t index) { return tickets_[index].sequence; };
  std::ranges::sort(all, {}, sequence_of);
  for (const std::uint32_t index : all) by_size.add(links_, index, tickets_[index].tokens, sequence_of);
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
