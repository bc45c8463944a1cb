/// \file
/// All that waits. Per class whose turn it is, per tenant who of it comes first, of each run one at a time; beside that
/// who expires first.
#pragma once

#include "core/cost_order.hpp"
#include "core/dary_heap.hpp"
#include "core/fair_queue.hpp"
#include "core/key_table.hpp"
#include "core/lane.hpp"
#include "core/shed_index.hpp"
#include "core/ticket.hpp"

#include <sluice/core/workload.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice::core {

/// Where a waiter belongs.
struct placement {
  std::uint32_t flow = 0;
  /// Whether its run has started something already.
  bool continuing = false;
  /// The age of its root run, or its own: a number in the order of arrival.
  std::uint64_t rank = 0;
  /// Its root run, or `nowhere`.
  std::uint32_t root = nowhere;
};

/// Of each root run, one at a time waits among those of its flow: the first of them. When that one goes, the next takes
/// a place at the end, behind whoever has come by then, as if it came now. So a run that asks for much at once has its
/// turn as one that asks for one thing after the other.
///
/// push, park, remove: O(log n + log flows). head, earliest: O(1).
///
/// Two orders beside are made only when they are wanted, in O(n log n), and kept until their class has no waiter left:
/// by size (`worst`, `fitting`), and by expected cost (`cheapest`).
class wait_queue {
 public:
  wait_queue(tickets& all, fair_queue& flows);
  wait_queue(const wait_queue&) = delete;
  wait_queue& operator=(const wait_queue&) = delete;

  /// Joins those of its flow.
  void push(std::uint32_t index, const placement& where);
  /// Waits aside, in a lane for those that a run cannot pay for now; `nowhere` makes a new one. Gives the lane.
  std::uint32_t park(std::uint32_t index, std::uint64_t rank, std::uint32_t lane);
  /// From wherever it waits. A parked lane that is empty is forgotten; then this gives true.
  bool remove(std::uint32_t index);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size(std::size_t c) const noexcept { return classes_[c].size; }
  /// How many of class `c` wait aside.
  [[nodiscard]] std::size_t parked(std::size_t c) const noexcept { return classes_[c].parked; }
  /// A bit for each class with a waiter, also with one that waits aside.
  [[nodiscard]] std::uint32_t populated_classes() const noexcept { return populated_; }
  /// A bit for each class with a waiter that waits for its turn.
  [[nodiscard]] std::uint32_t waiting_classes() const noexcept { return waiting_; }

  /// The next of class `c`. Precondition: its bit is set.
  [[nodiscard]] std::uint32_t head(std::size_t c) const noexcept { return head_of(flows_.first(c)); }
  /// The next of a flow. Precondition: something of it waits.
  [[nodiscard]] std::uint32_t head_of(std::uint32_t flow) const noexcept {
    const std::uint32_t first = lanes_per_flow * flow;
    const lane& continuing = lanes_[first + 1];
    const lane& fresh = lanes_[first];
    if (!continuing.waiting.empty()) return continuing.waiting.front().index;
    return (fresh.waiting.empty() ? lanes_[first + 2] : fresh).waiting.front().index;
  }
  /// Whether one that is not there would be the next of its flow. Precondition: something of it waits.
  [[nodiscard]] bool would_lead(const placement& where, instant deadline, std::uint64_t sequence) const noexcept;
  /// The next of those of a flow that are late, or `nowhere`.
  [[nodiscard]] std::uint32_t late_of(std::uint32_t flow) const noexcept {
    const lane& late = lanes_[lanes_per_flow * flow + 2];
    return late.waiting.empty() ? nowhere : late.waiting.front().index;
  }
  [[nodiscard]] bool is_late(std::uint32_t index) const noexcept {
    return (lane_of_[index] & (aside_bits | run_bit)) == 0 && lane_of_[index] % lanes_per_flow == 2;
  }
  /// From now on it comes after all of its flow that are not late.
  void make_late(std::uint32_t index, std::uint64_t rank);
  /// The next of a parked lane.
  [[nodiscard]] std::uint32_t head_of_parked(std::uint32_t lane) const noexcept {
    return aside_[lane].waiting.front().index;
  }
  /// Precondition: it is not parked.
  [[nodiscard]] std::uint32_t flow_of(std::uint32_t index) const noexcept {
    return is_of_run(index) ? lines_[line_of_[index]].flow : lane_of_[index] / lanes_per_flow;
  }
  [[nodiscard]] bool is_parked(std::uint32_t index) const noexcept { return (lane_of_[index] & parked_bit) != 0; }

  /// Its flow waits for its tenant's rate until `until`.
  void pause(std::uint32_t flow, instant until);
  /// It waits for its turn again. Precondition: it is paused.
  void resume(std::uint32_t flow);
  /// One flow whose pause has ended, or `nowhere`.
  [[nodiscard]] std::uint32_t resume_one(instant now);

  /// Who expires first, and when; `never` when nobody does.
  [[nodiscard]] instant earliest_deadline() const noexcept {
    return expiry_.empty() ? never : deadline_of(expiry_.front().key);
  }
  [[nodiscard]] std::uint32_t earliest() const noexcept { return at(expiry_.front().lane).waiting.front().index; }

  /// The one of class `c` that a full queue can best do without, or `shed_index::none`.
  [[nodiscard]] std::uint32_t worst(std::size_t c);
  /// Of those of class `c` but `except` that are sure to ask for at most `tokens`, judged by powers of two, the oldest
  /// of the largest; or `shed_index::none`.
  [[nodiscard]] std::uint32_t fitting(std::size_t c, std::int64_t tokens, std::uint32_t except);

  /// From now on the cheapest of class `c` is known, by the given expected cost.
  void order_by_cost(std::size_t c, const std::function<std::uint64_t(std::uint32_t)>& cost_of);
  void forget_costs(std::size_t c) noexcept {
    classes_[c].by_cost.stop();
    flows_.stir(c);
  }
  [[nodiscard]] bool ordered_by_cost(std::size_t c) const noexcept { return classes_[c].by_cost.active(); }
  void add_cost(std::uint32_t index, std::uint64_t cost);
  /// The cheapest of class `c`, or `nowhere`.
  [[nodiscard]] std::uint32_t cheapest(std::size_t c) const noexcept { return classes_[c].by_cost.cheapest(); }
  /// What the cheapest is expected to cost. Precondition: there is one.
  [[nodiscard]] std::uint64_t least_cost(std::size_t c) const noexcept { return classes_[c].by_cost.least_cost(); }

 private:
  struct expiry {
    std::uint64_t key;
    std::uint32_t lane;
    std::uint32_t number;
  };
  struct expiry_order {
    wait_queue* owner = nullptr;
    [[nodiscard]] bool before(const expiry& a, const expiry& b) const noexcept {
      return a.key != b.key ? a.key < b.key : static_cast<std::int32_t>(a.number - b.number) < 0;
    }
    void moved(const expiry& which, std::size_t place) const noexcept {
      owner->at(which.lane).expiry_place = static_cast<std::uint32_t>(place);
    }
  };
  struct one_class {
    std::size_t size = 0;
    std::size_t parked = 0;
    shed_index by_size;
    cost_order by_cost;
  };

  /// A root run with waiters in a flow: who of it is in the flow's lanes, and the lane of the others, if it has one.
  struct run_line {
    std::uint32_t flow = 0;
    std::uint32_t root = 0;
    std::uint32_t shown = 0;
    std::uint32_t behind = nowhere;
    [[nodiscard]] std::uint64_t key() const noexcept { return std::uint64_t{flow} << 32U | root; }
  };

  static constexpr std::uint32_t parked_bit = 0x8000'0000;
  static constexpr std::uint32_t behind_bit = 0x4000'0000;
  static constexpr std::uint32_t aside_bits = parked_bit | behind_bit;
  /// In `lane_of_` alone: it is in the line of a run.
  static constexpr std::uint32_t run_bit = 0x2000'0000;
  static constexpr std::uint32_t lanes_per_flow = 4;

  [[nodiscard]] lane& at(std::uint32_t which) noexcept {
    return (which & aside_bits) != 0 ? aside_[which & ~aside_bits] : lanes_[which];
  }
  [[nodiscard]] const lane& at(std::uint32_t which) const noexcept {
    return (which & aside_bits) != 0 ? aside_[which & ~aside_bits] : lanes_[which];
  }
  [[nodiscard]] bool is_of_run(std::uint32_t index) const noexcept { return (lane_of_[index] & run_bit) != 0; }
  void know(std::uint32_t index) noexcept;
  void join(std::uint32_t index, std::uint32_t which, lane_rank rank);
  void join_line(std::uint32_t index, std::uint32_t which, lane_rank rank, std::uint32_t line);
  void take_out(std::uint32_t index);
  [[nodiscard]] std::uint32_t lane_aside();
  void join_run(std::uint32_t index, const placement& where);
  [[nodiscard]] std::uint32_t lane_aside_of(run_line& line);
  /// After it was taken out: whoever of its run comes next is shown, if anybody is left.
  void leave_run(std::uint32_t index);
  /// Another one comes first in a lane of class `c`.
  void renew_first(lane& own, std::uint32_t which, std::size_t c) {
    flows_.stir(c);
    const std::uint64_t key =
        own.waiting.empty() ? no_deadline_key : std::min(own.waiting.front().key, no_deadline_key);
    // Few lanes change their first deadline in an event, and those without deadlines are not there at all.
    if (key != own.expiry_key) renew_expiry(own, which, key);
  }
  void renew_expiry(lane& own, std::uint32_t which, std::uint64_t key);
  /// Room for all tickets that there are.
  void reach();
  void renew_bit(std::size_t c) noexcept;
  void index_by_size(std::size_t c);

  tickets& tickets_;
  fair_queue& flows_;
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> lane_of_;
  /// The line of its run, for those that are in one.
  std::vector<std::uint32_t> line_of_;
  shed_index::links links_;
  std::vector<std::uint32_t> cost_places_;
  /// Of use only while an order is made; kept, as the memory of all that comes and goes.
  std::vector<std::uint32_t> sorted_;
  /// For each flow: fresh work, that of runs which have started something, what is late, and one that is not used.
  lane_store lanes_;
  lane_store aside_;
  std::uint32_t lanes_aside_ = 0;
  std::vector<std::uint32_t> unused_aside_;
  std::vector<run_line> lines_;
  std::vector<std::uint32_t> unused_lines_;
  key_table line_of_run_;
  /// Behind all that have come, and behind all that have been shown since.
  lane_rank last_{};
  dary_heap<expiry, expiry_order> expiry_;
  std::array<one_class, max_workloads> classes_;
  std::size_t size_ = 0;
  std::uint32_t populated_ = 0;
  std::uint32_t waiting_ = 0;
};

// These two are what waiting costs.
[[gnu::always_inline]] inline void wait_queue::renew_bit(std::size_t c) noexcept {
  if (flows_.size(c) == 0) {
    waiting_ &= ~(1U << c);
  } else {
    waiting_ |= 1U << c;
  }
}

[[gnu::always_inline]] inline void wait_queue::know(std::uint32_t index) noexcept {
  const ticket& joining = tickets_[index];
  if (joining.sequence > last_.age) last_ = joining.sequence;
  ++size_;
  ++classes_[joining.workload].size;
  populated_ |= 1U << joining.workload;
}

[[gnu::always_inline]] inline void wait_queue::join(std::uint32_t index, std::uint32_t which, lane_rank rank) {
  if (places_.size() <= index) [[unlikely]]
    reach();
  const ticket& joining = tickets_[index];
  lane_of_[index] = which;
  lane& joined = at(which);
  joined.waiting.push(item_of(index, joining.deadline, rank));
  if (places_[index] == 0) renew_first(joined, which, joining.workload);
}

[[gnu::always_inline]] inline void wait_queue::take_out(std::uint32_t index) {
  const std::uint32_t which = lane_of_[index] & ~run_bit;
  const std::uint32_t place = places_[index];
  lane& from = at(which);
  from.waiting.erase(place);
  if (place == 0) renew_first(from, which, tickets_[index].workload);
}

[[gnu::always_inline]] inline void wait_queue::push(std::uint32_t index, const placement& where) {
  lanes_.reach(lanes_per_flow * where.flow + lanes_per_flow - 1, lane_order{&tickets_, &places_});
  const ticket& joining = tickets_[index];
  know(index);
  if (where.root == nowhere) [[likely]] {
    join(index, lanes_per_flow * where.flow + (where.continuing ? 1 : 0), where.rank);
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

[[gnu::always_inline]] inline bool wait_queue::remove(std::uint32_t index) {
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
  if ((which & run_bit) != 0) [[unlikely]]
    leave_run(index);
  flow& mine = flows_[from];
  mine.slots -= leaving.slots;
  mine.tokens -= leaving.tokens;
  if (--mine.waiting == 0) {
    flows_.leave(from);
    renew_bit(c);
  } else if ((which & run_bit) == 0 && !lanes_[which].waiting.empty()) {
    __builtin_prefetch(&tickets_[lanes_[which].waiting.front().index]);
  }
  return false;
}

}  // namespace sluice::core
