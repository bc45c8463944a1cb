// What is learned from work that has ended, and the limits that move by it.
#include "core/admission_state.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::core {
namespace {

/// How many of the last requests a class's habits are averages of.
constexpr double habit_span = 16;

}  // namespace

std::optional<service_estimate> admission::state::expect(const candidate& what) const noexcept {
  if (services_.empty()) return std::nullopt;
  // Without a known split, what is asked for is mostly input.
  const std::int64_t input = what.asked.tokens - what.output;
  auto expected = services_.predict(what.model, what.workload, input, what.output > 0 ? what.output : unlimited);
  if (!expected || !pace_.known()) return expected;
  // As it is with what runs now, not as it was with what ran then.
  const double slowness = pace_.slowness(static_cast<double>(in_flight_) + 1);
  const auto scaled = [slowness](duration length) {
    return duration(static_cast<std::int64_t>(static_cast<double>(length.count()) * slowness));
  };
  expected->total = scaled(expected->total);
  if (expected->to_first_token > duration::zero()) expected->to_first_token = scaled(expected->to_first_token);
  return expected;
}

prospect admission::state::foresee(const candidate& what, capacity ahead, bool waits) const noexcept {
  prospect made;
  instant hoped = now_;
  if (waits) {
    const capacity free = ledger_.free();
    const auto to_come = [](std::int64_t before, std::int64_t own, std::int64_t there) {
      return static_cast<std::int64_t>(std::clamp<wide>(wide{before} + own - there, 0, largest_pool));
    };
    const auto wait = drain_.estimate(to_come(ahead.slots, what.asked.slots, free.slots),
                                      to_come(ahead.tokens, what.asked.tokens, free.tokens), now_);
    if (wait) {
      made.start = after(now_, *wait);
      hoped = after(
          now_, duration(static_cast<std::int64_t>(static_cast<double>(std::min(*wait, duration::max() / 4).count()) *
                                                   rules_.feasibility.wait_share)));
    }
  } else {
    made.start = now_;
  }
  if (what.deadline == never && !needs_time_) return made;
  if (const auto expected = expect(what)) made.service = expected->total;
  if (what.deadline == never || !rules_.feasibility.enabled) return made;
  if (made.service > duration::zero()) {
    const double share = static_cast<double>(made.service.count()) * rules_.feasibility.service_share;
    hoped = after(hoped, duration(static_cast<std::int64_t>(share)));
  }
  made.feasible = hoped <= what.deadline;
  return made;
}

instant admission::state::latest_start(const candidate& what) const noexcept {
  if (what.deadline == never) return never;
  const auto expected = expect(what);
  if (!expected || expected->total <= duration::zero()) return what.deadline;
  const double share = static_cast<double>(expected->total.count()) * rules_.feasibility.service_share;
  return what.deadline - duration(static_cast<std::int64_t>(share));
}

capacity admission::state::ahead_of(std::uint32_t index) const noexcept {
  const ticket& which = tickets_[index];
  const std::size_t c = which.workload;
  // What waits for its tenant's rate, or for its run, is not among what is queued.
  const bool queued = !queue_.is_parked(index) && !flows_[flow_of(index)].paused;
  const bool last = which.deadline >= latest_deadline_[c] && !queue_.ordered_by_cost(c);
  return ahead_in(c, last, queued ? which.asked() : capacity{});
}

capacity admission::state::ahead_in(std::size_t c, bool last, capacity own) const noexcept {
  wide tokens = 0;
  std::int64_t slots = 0;
  if (last) {
    slots = ledger_[c].queued_slots - own.slots;
    tokens = ledger_[c].queued_tokens - own.tokens;
  }
  for (std::uint32_t left = queue_.waiting_classes() & above_[c]; left != 0; left &= left - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(left));
    slots += ledger_[other].queued_slots;
    tokens += ledger_[other].queued_tokens;
  }
  return {std::max<std::int64_t>(0, slots),
          static_cast<std::int64_t>(std::clamp<wide>(tokens, 0, std::int64_t{1} << 61))};
}

// When there is less, or it comes more slowly, what was feasible may be so no longer.
void admission::state::reject_infeasible(effects& out) {
  if (!rules_.feasibility.enabled) return;
  const auto parked = [this] {
    std::size_t sum = 0;
    for (std::size_t c = 0; c < class_count_; ++c) sum += queue_.parked(c);
    return sum;
  };
  // Who goes may give back what others wait for: whoever begins to wait for capacity is looked at as well.
  for (bool again = true; again;) {
    const std::size_t before = parked();
    for (std::uint32_t index = 0; index < tickets_.size() && !queue_.empty(); ++index) {
      if (tickets_[index].state != ticket::phase::waiting || !cannot_make_it(index, candidate_of(index))) continue;
      const std::size_t c = tickets_[index].workload;
      count_miss(c);
      reject_waiter(index, reason::infeasible, bound_of(index), out);
      watch_overload(c);
    }
    again = parked() < before;
  }
}

void admission::state::note_first_token(std::uint32_t index) noexcept {
  if (!needs_time_) return;
  const ticket& which = tickets_[index];
  grant& running = grants_[which.grant];
  const auto late = std::chrono::duration_cast<std::chrono::microseconds>(now_ - running.since).count();
  running.first_token = static_cast<std::uint32_t>(std::clamp<std::int64_t>(late, 1, 0xffff'ffff));
  for (std::uint32_t left = elastic_classes_; left != 0; left &= left - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    if (rules_.classes[which.workload].priority <= rules_.classes[c].priority) continue;
    elastic_[c].observe_first_token(now_ - which.arrived, now_);
  }
}

void admission::state::learn(std::uint32_t index, const grant& ended, effects& out) {
  const ticket& which = tickets_[index];
  service_sample sample;
  sample.input_tokens = ended.used.input_tokens;
  sample.output_tokens = ended.used.output_tokens;
  sample.reserved_output = which.output;
  sample.total = now_ - ended.since;
  if (ended.first_token != 0) sample.to_first_token = std::chrono::microseconds(ended.first_token);
  if (!sample.usable()) return;
  static_cast<void>(services_.learn(which.detailed ? detail_of(index).model : model{}, which.workload, sample, now_));
  ++learned_;
  if (rules_.feasibility.enabled) {
    const double beside = (static_cast<double>(ended.beside) + static_cast<double>(in_flight_)) / 2;
    pace_.sample(sample, beside);
    if (pace_.known()) {
      double& average = habits_[which.workload].length;
      const double length = static_cast<double>(sample.total.count()) / pace_.at(beside);
      average = average == 0 ? length : average + (length - average) / habit_span;
    }
    renew_pace(which.workload);
  }
  if (!adaptive_.enabled()) return;
  const std::int64_t before = adaptive_.limit();
  if (adaptive_.sample(sample, ended.beside, adaptive_bound_at_ >= ended.since, now_)) apply_adaptive(before, out);
}

void admission::state::apply_adaptive(std::int64_t before, effects& out) {
  ledger_.limit_slots(adaptive_.limit());
  if (adaptive_.limit() < before) reject_infeasible(out);
}

duration admission::state::longest_wait_above(std::size_t c) noexcept {
  duration oldest{-1};
  for (std::uint32_t left = queue_.waiting_classes(); left != 0; left &= left - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(left));
    if (rules_.classes[other].priority <= rules_.classes[c].priority) continue;
    oldest = std::max(oldest, now_ - next_in(other).arrived);
  }
  return oldest;
}

bool admission::state::anybody_runs_above(std::size_t c) const noexcept {
  for (std::size_t other = 0; other < class_count_; ++other) {
    if (rules_.classes[other].priority > rules_.classes[c].priority && counts_[other].in_flight > 0) return true;
  }
  return false;
}

bool admission::state::move_limits(effects& out) {
  bool moved = false;
  for (std::uint32_t left = elastic_classes_; left != 0; left &= left - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    if (elastic_[c].next_update() > now_) continue;
    const bool waits = (queue_.waiting_classes() >> c & 1U) != 0;
    const bool binding = waits && ledger_.room(c, next_in(c).asked) == constraint::class_slots;
    if (!elastic_[c].update(longest_wait_above(c), binding, now_, anybody_runs_above(c))) continue;
    limit_class(c);
    moved = true;
  }
  // Also after a fall: what waits for its own class's ceiling from now on stands in nobody's way any more.
  if (moved) serve(out);
  return moved;
}

void admission::state::watch_overload(std::size_t c) {
  const bool on = overloads_[c].active(now_);
  if (on != counts_[c].overloaded) {
    counts_[c].overloaded = on;
    renew_pace(c);
  }
  if (on == queue_.ordered_by_cost(c)) return;
  if (on) {
    queue_.order_by_cost(c, [this](std::uint32_t index) { return expected_cost(index); });
  } else {
    queue_.forget_costs(c);
  }
}

void admission::state::note_time_given(std::size_t c, duration given) noexcept {
  double& average = habits_[c].time_given;
  const auto now = static_cast<double>(std::max(given, duration::zero()).count());
  // Those that come again have less time left: what counts is what fresh work is given.
  average += (now - average) * (now > average ? 1.0 / 4 : 1.0 / (4 * habit_span));
}

void admission::state::renew_pace(std::size_t c) noexcept {
  habit& own = habits_[c];
  const std::int64_t before = std::exchange(own.most_at_once, unlimited);
  if (rules_.feasibility.enabled && rules_.feasibility.run_share > 0 && own.length > 0 && own.time_given > 0) {
    own.most_at_once = pace_.most_for(own.time_given * rules_.feasibility.run_share / own.length);
  }
  if (own.most_at_once != before) limit_class(c);
}

void admission::state::limit_class(std::size_t c) noexcept {
  const std::int64_t elastic = elastic_[c].enabled() ? elastic_[c].cap() : unlimited;
  ledger_.limit_class(c, std::min(elastic, habits_[c].most_at_once));
}

// In nanoseconds of service when that is known, else in tokens: within a class one of the two is known for all.
std::uint64_t admission::state::expected_cost(const candidate& what) const noexcept {
  if (const auto expected = expect(what)) return static_cast<std::uint64_t>(expected->total.count());
  return static_cast<std::uint64_t>(what.asked.tokens);
}

}  // namespace sluice::core
