// Runs: what they may spend, and who waits for one of them to be able to pay.
#include "core/admission_state.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::core {

// Without effects nobody could be told that time has passed, so it has not.
expected<run_id, error> admission::state::open_run(const run_options& what) {
  auto opened = runs_.open(what, next_sequence_++);
  keep_thresholds();
  return opened;
}

expected<void, error> admission::state::extend_run(run_id id, const spending& more, instant now, effects& out) {
  if (auto done = runs_.extend(id, more); !done) return done;
  advance(now);
  keep_thresholds();
  unpark(id.index, out);
  settle(out);
  return {};
}

expected<void, charge_refusal> admission::state::charge_run(run_id id, const spending& what, instant now,
                                                            effects& out) {
  if (auto done = runs_.charge(id, what); !done) {
    if (rules_.observe && done.error().code() == errc::refused) return {};
    return done;
  }
  advance(now);
  keep_thresholds();
  unpark_eased(out);
  settle(out);
  return {};
}

bool admission::state::close_run(run_id id, bool hold, instant now, effects& out) {
  const std::uint32_t node = runs_.find_open(id);
  if (node == no_run && (hold || runs_.find_held(id) == no_run)) return false;
  advance(now);
  if (node != no_run) end_requests_of(node, out);
  // Whoever waits for this run to be able to pay is a part of it, and gone; those above may get back what was carved
  // out.
  runs_.close(id, hold);
  keep_thresholds();
  unpark_eased(out);
  settle(out);
  return true;
}

void admission::state::end_requests_of(std::uint32_t node, effects& out) {
  if (runs_.requests(node) == 0 && runs_[node].children == 0) return;
  const auto belongs = [this, node](std::uint32_t run) {
    while (run != no_run && run != node) run = runs_[run].parent;
    return run == node;
  };
  const std::uint32_t newest = runs_.newest_in_tree(node);
  for (std::uint32_t index = newest; index != nowhere; index = detail_of(index).older) {
    if (tickets_[index].state != ticket::phase::holding || !belongs(detail_of(index).run)) continue;
    out.list.push_back({effect::kind::stop, 0, id_of(index), tickets_[index].tag, {}});
  }
  for (std::uint32_t index = newest; index != nowhere; index = next_in_tree_) {
    // What a rejection eases may be the end of others.
    next_in_tree_ = detail_of(index).older;
    if (tickets_[index].state != ticket::phase::waiting || !belongs(detail_of(index).run)) continue;
    reject_waiter(index, reason::unknown_run, constraint::none, out);
  }
  next_in_tree_ = nowhere;
}

void admission::state::join_tree(std::uint32_t index) noexcept {
  detail& more = detail_of(index);
  std::uint32_t& newest = runs_.newest_in_tree(more.run);
  more.in_tree = true;
  more.newer = nowhere;
  more.older = newest;
  if (newest != nowhere) detail_of(newest).newer = index;
  newest = index;
  ++runs_.requests(more.run);
}

void admission::state::leave_tree(std::uint32_t index) noexcept {
  detail& more = detail_of(index);
  if (!std::exchange(more.in_tree, false)) return;
  if (next_in_tree_ == index) next_in_tree_ = more.older;
  if (more.older != nowhere) detail_of(more.older).newer = more.newer;
  (more.newer != nowhere ? detail_of(more.newer).older : runs_.newest_in_tree(more.run)) = more.older;
  --runs_.requests(more.run);
}

bool admission::state::could_be_stopped(request_id id) const noexcept {
  return could_be_preempted(id) ||
         (is(id, ticket::phase::holding) && tickets_[id.index].detailed && detail_of(id.index).in_tree);
}

bool admission::state::in_closed_run(request_id id) const noexcept {
  if (!is(id, ticket::phase::holding) || !tickets_[id.index].detailed) return false;
  const detail& more = detail_of(id.index);
  return more.in_tree && !runs_.chargeable(more.run);
}

void admission::state::flush_thresholds(effects& out) {
  for (const budget_crossing& each : pending_) {
    out.list.push_back(
        {effect::kind::budget_threshold, each.percent, {each.who.index, each.who.generation}, each.tag, {}});
  }
  pending_.clear();
}

budget_verdict admission::state::pay(std::uint32_t index) noexcept {
  if (!tickets_[index].detailed) return {};
  detail& more = detail_of(index);
  if (more.run == no_run) return {};
  const spending price = candidate_of(index).price();
  const budget_verdict verdict = runs_.check(more.run, price, more.finalising);
  if (verdict.what != budget_verdict::kind::ok) return verdict;
  runs_.reserve(more.run, price);
  more.paid = true;
  keep_thresholds();
  return verdict;
}

void admission::state::settle_price(std::uint32_t index, const spending& used, effects& out) {
  if (!tickets_[index].detailed) return;
  // First: its run may be known no longer afterwards.
  leave_tree(index);
  detail& more = detail_of(index);
  if (!more.paid) return;
  more.paid = false;
  runs_.settle(more.run, candidate_of(index).price(), used);
  keep_thresholds();
  unpark_eased(out);
  if (!pending_.empty()) flush_thresholds(out);
}

// Also where the last of a closed run has ended, and what was carved out for it has gone back.
void admission::state::unpark_eased(effects& out) {
  std::array<std::uint32_t, budget::most_depth> eased;
  const auto last = std::ranges::copy(runs_.eased(), eased.begin()).out;
  for (auto node = eased.begin(); node != last; ++node) unpark(*node, out);
}

void admission::state::unpark(std::uint32_t node, effects& out) {
  while (runs_.parked(node) != nowhere) {
    const std::uint32_t index = queue_.head_of_parked(runs_.parked(node));
    const detail& more = detail_of(index);
    const budget_verdict verdict = runs_.check(more.run, candidate_of(index).price(), more.finalising);
    switch (verdict.what) {
      case budget_verdict::kind::ok:
        dequeue(index);
        static_cast<void>(pay(index));
        enqueue(index);
        break;
      case budget_verdict::kind::wait:
        if (verdict.node == node) return;
        dequeue(index);
        park(index, verdict.node);
        break;
      case budget_verdict::kind::exhausted:
        reject_waiter(index, reason::budget_exhausted, bound_of(verdict), out);
        break;
    }
  }
}

}  // namespace sluice::core
