#include "sim/rerun.hpp"

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <variant>

namespace sluice::sim {
namespace {

constexpr std::uint64_t last_of_all = std::numeric_limits<std::uint64_t>::max();

/// What is usual in a class, for work that the log has not seen run to its end.
struct habits {
  duration held{};
  usage used{};
  bool stoppable = false;
};

habits habits_of(const recorded_run& run, std::optional<workload> of, const habits& otherwise) {
  std::vector<duration> held;
  std::vector<duration> input;
  std::vector<duration> output;
  bool stoppable = false;
  for (const recorded_request& each : run.requests) {
    if (of && each.asked.workload != *of) continue;
    stoppable = stoppable || each.stoppable_after >= duration::zero();
    if (each.held < duration::zero()) continue;
    held.push_back(each.held);
    if (!each.used) continue;
    input.emplace_back(each.used->input_tokens);
    output.emplace_back(each.used->output_tokens);
  }
  habits usual = otherwise;
  usual.held = median_of(std::move(held), otherwise.held);
  usual.used.input_tokens = median_of(std::move(input), duration(otherwise.used.input_tokens)).count();
  usual.used.output_tokens = median_of(std::move(output), duration(otherwise.used.output_tokens)).count();
  usual.stoppable = stoppable;
  return usual;
}

/// What the log says a piece of work does once it has been let in.
struct plan {
  duration held{};
  std::uint64_t order = last_of_all;
  core::ending how = core::ending::released;
  std::optional<usage> used{};
  duration stoppable_after{-1};
  std::uint64_t stoppable_order = 0;
  bool estimated = false;
};

class second_life {
 public:
  second_life(const recorded_run& then, const policy& rules, const std::vector<workload>& classes)
      : then_(then), classes_(classes), gate_(rules), lives_(then.requests.size()), fates_(then.requests.size()) {
    const habits in_all = habits_of(then, std::nullopt, {});
    for (std::size_t c = 0; c < classes.size(); ++c) {
      usual_.push_back(habits_of(then, workload(static_cast<std::uint8_t>(c)), in_all));
    }
    std::vector<duration> delays;
    for (const recorded_request& each : then.requests) {
      for (const recorded_stop& stop : each.stops) delays.push_back(stop.delay);
    }
    usual_delay_ = median_of(std::move(delays), duration::zero());
  }

  std::vector<rerun_fate> live() {
    for (std::size_t i = 0; i < then_.requests.size(); ++i) {
      const recorded_request& each = then_.requests[i];
      plan_at(each.arrived, each.order, step::arrive, i);
      if (each.left_after >= duration::zero()) plan_at(each.arrived + each.left_after, each.left_order, step::leave, i);
    }
    for (std::size_t i = 0; i < then_.events.size(); ++i) {
      plan_at(then_.events[i].what.at, then_.events[i].order, step::other, i);
    }
    while (!planned_.empty() && planned_.top().at <= then_.end) {
      const planned next = planned_.top();
      planned_.pop();
      now_ = next.at;
      carry_out(next);
    }
    for (std::size_t i = 0; i < fates_.size(); ++i) {
      if (fates_[i].fate.what == fate::kind::waiting) fates_[i].fate.waited = then_.end - then_.requests[i].arrived;
    }
    return std::move(fates_);
  }

 private:
  enum class step : std::uint8_t { arrive, leave, other, tick, end, stoppable, report, signal, stop, again };
  struct planned {
    instant at{};
    std::uint64_t order = 0;
    // Of two with one order, the one that was planned first.
    std::uint64_t number = 0;
    step what{};
    std::size_t who = 0;
    std::uint32_t grant = 0;
    std::size_t which = 0;
    bool operator>(const planned& other) const noexcept {
      return std::tie(at, order, number) > std::tie(other.at, other.order, other.number);
    }
  };
  struct life {
    core::request_id id{};
    /// Counts its grants and stops, so that what was planned for one that is over does not happen.
    std::uint32_t grant = 0;
    instant granted{};
    usage so_far{};
    age kept{};
  };

  void plan_at(instant at, std::uint64_t order, step what, std::size_t who, std::size_t which = 0) {
    const std::uint32_t grant = who < lives_.size() ? lives_[who].grant : 0;
    planned_.push({at, order, planned_count_++, what, who, grant, which});
  }

  void carry_out(const planned& next) {
    const bool of_a_grant = next.what >= step::end;
    if (of_a_grant && lives_[next.who].grant != next.grant) return;
    core::effects out;
    switch (next.what) {
      case step::arrive:
      case step::again: come(next.who); return;
      case step::leave: leave(next.who); return;
      case step::other: other(then_.events[next.who]); return;
      case step::tick:
        if (wanted_ != next.at) return;
        wanted_ = never;
        gate_.tick(now_, out);
        break;
      case step::end: end(next.who); return;
      case step::stoppable: gate_.set_stoppable(lives_[next.who].id, true, now_, out); break;
      case step::report: {
        const progress& far = then_.requests[next.who].reports[next.which].how_far;
        lives_[next.who].so_far = {far.input_tokens, far.output_tokens};
        static_cast<void>(gate_.report(lives_[next.who].id, far, now_, out));
        break;
      }
      case step::signal:
        gate_.signal(lives_[next.who].id, then_.requests[next.who].signals[next.which].what, now_, out);
        break;
      case step::stop: stopped(next.who); return;
    }
    take_in(out);
  }

  void come(std::size_t who) {
    const recorded_request& it = then_.requests[who];
    core::request asked = it.asked;
    if (asked.workload.index() < classes_.size())
      asked.workload = classes_[asked.workload.index()];
    else
      asked.workload = workload(255);
    asked.tag = who;
    asked.age = lives_[who].kept;
    asked.run = run_of(asked.run);
    fates_[who].fate.what = fate::kind::waiting;
    core::effects out;
    lives_[who].id = gate_.arrive(asked, now_, out);
    take_in(out);
  }

  [[nodiscard]] run_id run_of(run_id then) const {
    const auto found = runs_.find({then.index, then.generation});
    return found == runs_.end() ? run_id{} : found->second;
  }

  void leave(std::size_t who) {
    if (fates_[who].fate.what != fate::kind::waiting) return;
    core::effects out;
    if (!gate_.cancel(lives_[who].id, now_, out)) return;
    fates_[who].fate.what = fate::kind::left;
    fates_[who].fate.waited = now_ - then_.requests[who].arrived;
    take_in(out);
  }

  void other(const recorded_event& it) {
    core::event what = it.what;
    if (auto* opened = std::get_if<core::events::open_run>(&what.what))
      opened->what.parent = run_of(opened->what.parent);
    if (auto* extended = std::get_if<core::events::extend_run>(&what.what)) extended->id = run_of(extended->id);
    if (auto* charged = std::get_if<core::events::charge_run>(&what.what)) charged->id = run_of(charged->id);
    if (auto* closed = std::get_if<core::events::close_run>(&what.what)) closed->id = run_of(closed->id);
    core::effects out;
    const core::event_result gave = core::apply(gate_, what, out);
    if (it.result.run != run_id{}) runs_[{it.result.run.index, it.result.run.generation}] = gave.run;
    take_in(out);
  }

  [[nodiscard]] plan plan_of(std::size_t who) const {
    const recorded_request& it = then_.requests[who];
    const std::size_t c = it.asked.workload.index();
    const habits usual = c < usual_.size() ? usual_[c] : habits{};
    if (it.held >= duration::zero())
      return {it.held, it.end_order, it.how, it.used, it.stoppable_after, it.stoppable_order, false};
    plan made{usual.held, last_of_all, core::ending::released, usual.used, duration(-1), last_of_all, true};
    made.used->output_tokens = std::min(made.used->output_tokens, std::max<std::int64_t>(it.asked.cost.tokens, 0));
    if (it.fate.what == fate::kind::running) {
      // It has held it for so long, and would for longer.
      const duration seen = then_.end - it.arrived - it.fate.waited;
      made.held = std::max(made.held, seen + duration(1));
      made.stoppable_after = it.stoppable_after;
      made.stoppable_order = it.stoppable_order;
    } else if (usual.stoppable) {
      made.stoppable_after = duration::zero();
    }
    // It was not at its end when it was stopped.
    for (const recorded_stop& stop : it.stops) made.held = std::max(made.held, stop.after_grant + duration(1));
    return made;
  }

  void granted(std::size_t who, core::request_id id) {
    const recorded_request& it = then_.requests[who];
    life& mine = lives_[who];
    mine.id = id;
    ++mine.grant;
    mine.granted = now_;
    mine.so_far = {};
    const plan will = plan_of(who);
    fates_[who].fate.what = fate::kind::running;
    fates_[who].fate.waited = now_ - it.arrived;
    fates_[who].estimated = will.estimated && it.fate.what != fate::kind::running;
    if (will.stoppable_after >= duration::zero()) {
      plan_at(after(now_, will.stoppable_after), will.stoppable_order, step::stoppable, who);
    }
    for (std::size_t i = 0; i < it.reports.size(); ++i) {
      plan_at(after(now_, it.reports[i].after_grant), it.reports[i].order, step::report, who, i);
    }
    for (std::size_t i = 0; i < it.signals.size(); ++i) {
      plan_at(after(now_, it.signals[i].after_grant), it.signals[i].order, step::signal, who, i);
    }
    plan_at(after(now_, will.held), will.order, step::end, who);
  }

  void end(std::size_t who) {
    life& mine = lives_[who];
    const plan was = plan_of(who);
    ++mine.grant;
    fates_[who].fate.what = fate::kind::ended;
    core::effects out;
    gate_.finish(mine.id, was.how, was.used, now_, out);
    take_in(out);
  }

  [[nodiscard]] const recorded_stop* stop_of(std::size_t who) const {
    const auto& stops = then_.requests[who].stops;
    const std::uint32_t nth = fates_[who].fate.preemptions;
    return nth < stops.size() ? &stops[nth] : nullptr;
  }

  /// What it has used when it is stopped: as in the log when it is stopped at the same point, else its share of the
  /// output.
  [[nodiscard]] std::optional<usage> used_until_now(std::size_t who) const {
    const duration ran = now_ - lives_[who].granted;
    const recorded_stop* const stop = stop_of(who);
    if (stop != nullptr && stop->after_grant == ran) return stop->used;
    const plan was = plan_of(who);
    if (!was.used) return std::nullopt;
    usage part = *was.used;
    const double share =
        was.held > duration::zero() ? static_cast<double>(ran.count()) / static_cast<double>(was.held.count()) : 0;
    part.output_tokens =
        static_cast<std::int64_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(part.output_tokens));
    part.output_tokens = std::max(part.output_tokens, lives_[who].so_far.output_tokens);
    return part;
  }

  void stopped(std::size_t who) {
    life& mine = lives_[who];
    fate& mine_too = fates_[who].fate;
    const recorded_stop* const as_then = stop_of(who);
    const std::optional<usage> used = used_until_now(who);
    const usage spent = used.value_or(mine.so_far);
    ++mine.grant;
    ++mine_too.preemptions;
    mine_too.wasted_tokens += spent.input_tokens + spent.output_tokens;
    mine_too.what = fate::kind::stopped;
    if (const auto kept = gate_.age_of(mine.id)) {
      mine.kept = *kept;
      ++mine.kept.preemptions;
    }
    core::effects out;
    gate_.finish(mine.id, core::ending::preempted, used, now_, out);
    take_in(out);
    const duration again = as_then == nullptr ? duration::zero() : as_then->again_after;
    if (again < duration::zero()) return;
    plan_at(after(now_, again), as_then == nullptr ? 0 : as_then->again_order, step::again, who);
  }

  void take_in(const core::effects& out) {
    for (const core::effect& each : out.list) {
      const auto who = static_cast<std::size_t>(each.tag);
      switch (each.what) {
        case core::effect::kind::granted: granted(who, each.id); break;
        case core::effect::kind::rejected: {
          fate& his = fates_[who].fate;
          his.what = fate::kind::refused;
          his.why = out.decisions.at(each.detail).reason;
          his.waited = now_ - then_.requests[who].arrived;
          break;
        }
        case core::effect::kind::preempt: {
          const recorded_stop* const stop = stop_of(who);
          const duration slow = then_.requests[who].outran_stop;
          const duration delay = stop != nullptr           ? stop->delay
                                 : slow < duration::zero() ? usual_delay_
                                                           : std::max(usual_delay_, slow + duration(1));
          plan_at(after(now_, delay), stop != nullptr ? stop->order : last_of_all, step::stop, who);
          break;
        }
        case core::effect::kind::wake_at:
          wanted_ = each.at;
          if (each.at != never) plan_at(each.at, order_of_tick(each.at), step::tick, lives_.size());
          break;
        // How long it took until it had stopped is what was recorded.
        case core::effect::kind::stop:
        case core::effect::kind::budget_threshold: break;
      }
    }
  }

  /// Among what happens at the same instant: where the log had it, or last.
  [[nodiscard]] std::uint64_t order_of_tick(instant at) const {
    const auto found = std::ranges::lower_bound(then_.ticks, at, {}, &std::pair<instant, std::uint64_t>::first);
    return found != then_.ticks.end() && found->first == at ? found->second : last_of_all;
  }

  const recorded_run& then_;
  const std::vector<workload>& classes_;
  core::admission gate_;
  std::vector<life> lives_;
  std::vector<rerun_fate> fates_;
  std::vector<habits> usual_;
  duration usual_delay_{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, run_id> runs_;
  std::priority_queue<planned, std::vector<planned>, std::greater<>> planned_;
  std::uint64_t planned_count_ = 0;
  instant now_{};
  instant wanted_ = never;
};

}  // namespace

std::vector<rerun_fate> rerun(const recorded_run& then, const policy& rules, const std::vector<workload>& classes) {
  return second_life(then, rules, classes).live();
}

}  // namespace sluice::sim
