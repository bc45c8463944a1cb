#include "core/wait_queue.hpp"

#include <algorithm>
#include <utility>

namespace sluice::core {
namespace {

constexpr std::size_t usual_line = 16;

}  // namespace

wait_queue::wait_queue(tickets& all, fair_queue& flows) : tickets_(all), flows_(flows) {
  expiry_ = dary_heap<expiry, expiry_order>(expiry_order{this});
}

void wait_queue::reach() {
  places_.resize(tickets_.size());
  lane_of_.resize(tickets_.size());
  line_of_.resize(tickets_.size());
  lines_.reserve(tickets_.size());
  unused_lines_.reserve(tickets_.size());
  unused_aside_.reserve(tickets_.size());
}

void wait_queue::make_late(std::uint32_t index, std::uint64_t rank) {
  const std::uint32_t flow = flow_of(index);
  const bool of_run = is_of_run(index);
  take_out(index);
  // It needs no turn of its run any more.
  if (of_run) leave_run(index);
  join(index, lanes_per_flow * flow + 2, rank);
}

void wait_queue::join_line(std::uint32_t index, std::uint32_t which, lane_rank rank, std::uint32_t line) {
  join(index, which, rank);
  lane_of_[index] |= run_bit;
  line_of_[index] = line;
}

void wait_queue::join_run(std::uint32_t index, const placement& where) {
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
    join_line(index, lanes_per_flow * where.flow + (where.continuing ? 1 : 0), where.rank, place);
    return;
  }
  run_line& line = lines_[place];
  const std::uint32_t shown_lane = lane_of_[line.shown] & ~run_bit;
  const lane_item shown = at(shown_lane).waiting[places_[line.shown]];
  const lane_item item = item_of(index, tickets_[index].deadline, where.rank);
  if (!lane_order{&tickets_, &places_}.before(item, shown)) {
    join_line(index, lane_aside_of(line), where.rank, place);
    return;
  }
  const std::uint32_t other = std::exchange(line.shown, index);
  take_out(other);
  join_line(other, lane_aside_of(line), tickets_[other].sequence, place);
  join_line(index, shown_lane, where.rank, place);
}

bool wait_queue::would_lead(const placement& where, instant deadline, std::uint64_t sequence) const noexcept {
  const lane_item mine = item_of(nowhere, deadline, where.rank);
  const auto before = [&](const lane_item& other) {
    if (mine.key != other.key) return mine.key < other.key;
    if (mine.rank != other.rank) return static_cast<std::int32_t>(mine.rank - other.rank) < 0;
    return sequence < tickets_[other.index].sequence;
  };
  const std::uint32_t fresh = lanes_per_flow * where.flow;
  const std::uint32_t continuing = fresh + 1;
  std::uint32_t which = where.continuing ? continuing : fresh;
  const run_line of_run{where.flow, where.root};
  const std::uint32_t line = where.root == nowhere ? key_table::none : line_of_run_.find(of_run.key());
  if (line != key_table::none) {
    // It waits behind the one that is there of its run, or takes the place of that one.
    const std::uint32_t shown = lines_[line].shown;
    which = lane_of_[shown] & ~run_bit;
    if (!before(lanes_[which].waiting[places_[shown]])) return false;
  }
  const auto& joined = lanes_[which].waiting;
  return (which == continuing || lanes_[continuing].waiting.empty()) && (joined.empty() || before(joined.front()));
}

std::uint32_t wait_queue::lane_aside() {
  if (unused_aside_.empty()) {
    unused_aside_.push_back(lanes_aside_);
    aside_.reach(lanes_aside_, lane_order{&tickets_, &places_});
    // Lanes go from run to run: with room for what most of them need, they soon ask for no more.
    aside_[lanes_aside_++].waiting.reserve(usual_line);
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
    join_line(line.shown, lanes_per_flow * line.flow, last_, place);
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
