/// \file
/// The admission rules once more, as plainly as they can be said: lists that are scanned, sums that are added up anew
/// each time. Nothing is fast here. What is learned is kept by the rooms of the machine itself, which have tests of
/// their own; what is made of it is not.
#pragma once

#include "core/reference/learning.hpp"

namespace sluice::core::testing {

class reference_model : public learning {
 public:
  using learning::learning;

  void arrive(const request& what, instant now) {
    advance(now);
    const std::size_t c = what.workload.index();
    piece one = candidate(what);
    if (c < classes()) {
      // What has no deadline can miss none.
      if (what.deadline != never && rules_.feasibility.enabled) note_time_given(c, what.deadline - now_);
      if (what.deadline != never) count_arrival(c);
      if (counts_[c].overloaded) watch_overload(c);
    }
    constraint bound = constraint::none;
    if (const reason why = objection(one, bound); why != reason::none) {
      const bool by_policy =
          why == reason::impossible || why == reason::budget_exhausted || why == reason::retry_budget;
      if (rules_.observe && by_policy) {
        join(one);
        let_through(one, true);
        return;
      }
      reject_newcomer(what, why, bound);
      if (!waiting.empty()) settle();
      return;
    }
    bool moved = expire();
    if (rules_.classes[c].elastic.enabled && elastic_[c].next_update() <= now_) moved = move_limits() || moved;
    join(one);
    one.repeats = what.kind != attempt::first;
    if (waiting.empty() && fits_alone(one) && !hopeless(one)) {
      start_at_once(one);
      out.push_back({effect::kind::granted, what.tag});
      if (moved) finish_event();
      return;
    }
    await_turn(one, moved);
    finish_event();
  }

  bool arrive_at_once(const request& what, instant now) {
    const std::size_t c = what.workload.index();
    if (!waiting.empty() || closed_ || c >= classes() || !well_formed(what.cost)) return false;
    if (rules_.classes[c].elastic.enabled && elastic_[c].may_fall(std::max(now, now_))) return false;
    const capacity asked{what.cost.slots, what.cost.tokens};
    if (ceiling(c).slots == 0 || room(add_up(), c, asked) != constraint::none) return false;
    if (what.deadline <= std::max(now, now_)) return false;
    const instant before = now_;
    advance(now);
    piece one = candidate(what);
    const bool unknown_run = what.run.generation != 0 && !one.run;
    if (unknown_run || !fits_alone(one) || hopeless(one) || !may_be_tried(one)) {
      now_ = before;
      return false;
    }
    join(one);
    start_at_once(one);
    return true;
  }

  bool cancel(std::uint64_t tag, instant now) {
    if (find(waiting, tag) == nullptr) return false;
    advance(now);
    const piece gone = dequeue(tag);
    ++counts_[gone.workload()].cancelled_total;
    settle_price(gone, {});
    tenants_.release(gone.tenant);
    settle();
    return true;
  }

  void tick(instant now) {
    advance(now);
    if (rules_.overload.enabled) {
      for (std::size_t c = 0; c < classes(); ++c) watch_overload(c);
    }
    settle();
  }

  /// False when the report is an error.
  bool report(std::uint64_t tag, const progress& how_far, instant now) {
    piece* const running = find(holding, tag);
    if (running == nullptr) return false;
    const bool split = running->size.output_tokens > 0;
    const std::int64_t reserved = split ? running->size.output_tokens : running->size.tokens;
    const bool sound = how_far.input_tokens >= 0 && how_far.output_tokens >= 0 && how_far.margin >= 0;
    if (!sound || (!running->observed && how_far.remaining_output > reserved)) return false;
    advance(now);
    if (how_far.input_tokens >= running->used.input_tokens && how_far.output_tokens >= running->used.output_tokens) {
      if (running->used.output_tokens == 0 && how_far.output_tokens > 0) note_first_token(*running);
      running->used = {how_far.input_tokens, how_far.output_tokens};
      if (!running->observed) change_hold(*running, hold_after(*running, how_far));
    }
    if (!waiting.empty()) settle();
    return true;
  }

  void set_stoppable(std::uint64_t tag, bool stoppable, instant now) {
    piece* const running = find(holding, tag);
    if (running == nullptr) return;
    advance(now);
    running->stoppable = stoppable;
    if (!waiting.empty()) settle();
  }

  bool finish(std::uint64_t tag, ending how, std::optional<usage> used, instant now) {
    if (find(holding, tag) == nullptr) return false;
    advance(now);
    const auto place =
        std::find_if(holding.begin(), holding.end(), [tag](const piece& one) { return one.asked.tag == tag; });
    piece ended = *place;
    holding.erase(place);
    if (used) ended.used = *used;
    const std::int64_t consumed = ended.used.input_tokens + ended.used.output_tokens;
    class_statistics& counts = counts_[ended.workload()];
    counts.consumed_tokens_total += consumed;
    counts.refunded_tokens_total += std::max<std::int64_t>(0, ended.size.tokens - consumed);
    counts.overrun_tokens_total += std::max<std::int64_t>(0, consumed - ended.size.tokens);
    if (how == ending::preempted) {
      ++counts.preempted_total;
      counts.wasted_tokens_total += consumed;
    }
    const bool known = used.has_value() || consumed > 0;
    if (known) correct_charges(ended);
    if (needs_time_) {
      if (used && how == ending::released) learn(ended);
      drain_.released(ended.size.slots, ended.hold, now_, !waiting.empty());
    }
    const std::int64_t money = price_of(ended.asked.model, ended.used.input_tokens, ended.used.output_tokens);
    settle_price(ended, known ? spending{.tokens = consumed, .calls = 1, .money = money} : ended.price());
    tenants_.release(ended.tenant);
    if (!waiting.empty()) settle();
    return true;
  }

  bool reconfigure(const policy& next, instant now) {
    if (next.revision <= rules_.revision) return false;
    advance(now);
    rules_ = next;
    turns_.resume(never);
    put_in_force();
    for (const std::uint64_t tag : in_named_order()) {
      const piece* const one = find(waiting, tag);
      if (one == nullptr) continue;
      const constraint bound = possible(*one);
      if (bound == constraint::none) continue;
      if (rules_.observe) {
        let_through(*one, true);
      } else {
        reject(tag, reason::impossible, bound);
      }
    }
    for (std::size_t c = 0; c < classes(); ++c) watch_overload(c);
    settle();
    if (!rules_.observe) return true;
    for (const std::uint64_t tag : in_named_order()) {
      if (const piece* const one = find(waiting, tag)) let_through(*one, false);
    }
    return true;
  }

  void close(instant now) {
    advance(now);
    closed_ = true;
    for (const std::uint64_t tag : in_named_order()) {
      if (find(waiting, tag) != nullptr) reject(tag, reason::closed, constraint::none);
    }
  }

  void signal(provider_signal what, instant now) {
    if (!rules_.adaptive.enabled) return;
    advance(now);
    const std::int64_t before = adaptive_.limit();
    if (adaptive_.signal(what, now_) && adaptive_.limit() < before) reject_infeasible();
    if (!waiting.empty()) settle();
  }

  void pause(instant until, instant now) {
    if (!pause_.ask(until, std::max(now, now_), rules_)) return;
    advance(now);
    if (!waiting.empty()) settle();
  }

  void report_limits(const provider_limits& said, instant now) {
    advance(now);
    reports_.hear(said, rules_.rates, now_);
    if (!waiting.empty()) settle();
  }

  /// The place of the run among `runs.all`.
  std::optional<std::size_t> open_run(const run_options& what) { return runs.open(what, ++sequences_); }

  bool extend_run(run_id id, const spending& more, instant now) {
    const auto run = runs.find_open(id);
    if (!run || !runs.extend(*run, more)) return false;
    advance(now);
    unpark(*run);
    settle();
    return true;
  }

  bool charge_run(run_id id, const spending& what, instant now) {
    const auto run = runs.find(id);
    const bool negative = what.tokens < 0 || what.calls < 0 || what.tool_calls < 0 || what.money < 0;
    if (!run || negative) return false;
    if (!runs.charge(*run, what)) return rules_.observe;
    advance(now);
    for (const std::size_t payer : runs.payers(*run)) unpark(payer);
    settle();
    return true;
  }

  bool close_run(run_id id, bool hold, instant now) {
    auto run = runs.find_open(id);
    const bool is_open = run.has_value();
    if (!is_open && !hold) run = runs.find_held(id);
    if (!run) return false;
    advance(now);
    if (is_open) end_all_of(*run);
    for (const std::size_t eased : runs.close(*run, hold)) unpark(eased);
    settle();
    return true;
  }

 private:
  void advance(instant now) { now_ = std::max(now_, now); }

  void end_all_of(std::size_t run) {
    stop_running(run);
    for (const std::uint64_t tag : in_named_order()) {
      const piece* const one = find(waiting, tag);
      if (one == nullptr || !one->run || !runs.is_part_of(*one->run, run)) continue;
      reject(tag, reason::unknown_run, constraint::none);
    }
  }

  void stop_running(std::size_t run) {
    std::vector<std::uint64_t> tags;
    for (const piece& one : holding) {
      if (!one.observed && one.run && runs.is_part_of(*one.run, run)) tags.push_back(one.asked.tag);
    }
    std::ranges::stable_sort(tags, {}, [this](std::uint64_t tag) { return named_place(tag); });
    for (const std::uint64_t tag : tags) out.push_back({effect::kind::stop, tag});
  }

  [[nodiscard]] static bool well_formed(const cost& asked) {
    return asked.slots >= 0 && asked.tokens >= 0 && asked.output_tokens >= 0 && asked.output_tokens <= asked.tokens;
  }

  piece candidate(const request& what) {
    piece made;
    made.asked = what;
    made.size = what.cost;
    made.tenant = tenants_.find(what.tenant, turns_, now_);
    if (what.run.generation != 0) made.run = runs.find(what.run);
    made.money = price_of(what.model, made.input(), made.size.output_tokens);
    return made;
  }

  [[nodiscard]] reason objection(const piece& one, constraint& bound) const {
    if (closed_) return reason::closed;
    if (one.workload() >= classes()) return reason::unknown_class;
    if (!well_formed(one.asked.cost)) return reason::invalid_cost;
    bound = possible(one);
    if (bound != constraint::none) return reason::impossible;
    if (one.asked.deadline <= now_) return reason::deadline_passed;
    if (one.asked.run.generation != 0) {
      if (!one.run) return reason::unknown_run;
      const plain_runs::verdict verdict = runs.check(*one.run, one.price(), one.asked.finalising);
      if (verdict.what == budget_verdict::kind::exhausted) {
        bound = budget_constraint(verdict);
        return reason::budget_exhausted;
      }
    }
    if (may_be_tried(one)) return reason::none;
    bound = constraint::retry_budget;
    return reason::retry_budget;
  }

  [[nodiscard]] bool may_be_tried(const piece& one) const {
    return one.asked.kind == attempt::first || retries_.allows(everything_tried(), one.size.tokens);
  }

  /// What keeps it from starting when nobody waits: nothing is protected then.
  [[nodiscard]] bool fits_alone(const piece& one) const {
    if (ceiling(one.workload()).slots == 0 || (pause_.closed(now_) && now_ < pause_.spread_end)) return false;
    if (room(add_up(), one.workload(), one.part()) != constraint::none || rate_bound(one) != constraint::none)
      return false;
    return !one.run || runs.check(*one.run, one.price(), one.asked.finalising).what == budget_verdict::kind::ok;
  }

  /// It is known from now on.
  void join(piece& one) {
    const age& kept = one.asked.age;
    const bool again = kept.sequence != 0 && kept.sequence <= sequences_;
    one.sequence = again ? kept.sequence : ++sequences_;
    one.arrived = again ? std::clamp(kept.arrived, instant{}, now_) : now_;
    one.preemptions = again ? kept.preemptions : 0;
    const auto of_its_run = [&](const piece& other) {
      return other.paid && other.run && runs.root_of(*other.run) == runs.root_of(*one.run);
    };
    const bool alone = one.run && std::none_of(waiting.begin(), waiting.end(), of_its_run) &&
                       std::none_of(holding.begin(), holding.end(), of_its_run);
    one.own_rank = alone ? runs.all[*one.run].rank : one.sequence;
    one.goes_on = alone && runs.all[runs.root_of(*one.run)].started;
    tenants_.use(one.tenant);
  }

  void start_at_once(piece& one) {
    if (one.run) pay(one);
    charge_start(one);
    hold(one);
  }

  void await_turn(piece one, bool moved) {
    const std::uint64_t tag = one.asked.tag;
    const std::size_t c = one.workload();
    if (rules_.observe && hopeless(one)) return let_through(one, true);
    const plain_runs::verdict verdict =
        one.run ? runs.check(*one.run, one.price(), one.asked.finalising) : plain_runs::verdict{};
    if (verdict.what == budget_verdict::kind::wait) {
      park(one, verdict.run);
    } else {
      if (one.run) pay(one);
      enqueue(one);
    }
    const piece* const next = next_of(c);
    newcomer_ = tag;
    // Nobody fitted before, and one who joins behind others gives nobody room.
    const bool slotless =
        std::any_of(waiting.begin(), waiting.end(), [](const piece& each) { return each.size.slots == 0; });
    if (moved || slotless || add_up().free.slots > 0 || (next != nullptr && next->asked.tag == tag)) serve();
    newcomer_.reset();
    const piece* const newcomer = find(waiting, tag);
    if (newcomer == nullptr) return;
    if (rules_.observe) return let_through(*newcomer, false);
    if (!one.asked.may_wait) {
      const constraint bound = bound_of(*newcomer);
      const bool rate = (bound >= constraint::provider_requests && bound <= constraint::tenant_output) ||
                        bound >= constraint::reopening;
      reject(tag, rate ? reason::rate_limited : reason::no_room, bound);
      serve();
    } else if (cannot_make_it(*newcomer)) {
      reject(tag, reason::infeasible, bound_of(*newcomer));
      serve();
    } else if (shed(tag)) {
      serve();
    }
    if (find(waiting, tag) != nullptr) latest_deadline_[c] = std::max(latest_deadline_[c], one.asked.deadline);
  }

  [[nodiscard]] static std::int64_t hold_after(const piece& running, const progress& how_far) {
    const bool split = running.size.output_tokens > 0;
    const std::int64_t reserved = split ? running.size.output_tokens : running.size.tokens;
    // Without a split, what came in counts against the reservation like what came out.
    const std::int64_t outside = split ? how_far.input_tokens : 0;
    const std::int64_t produced = how_far.output_tokens + (split ? 0 : how_far.input_tokens);
    const std::int64_t overrun = std::max<std::int64_t>(0, produced - reserved);
    if (how_far.remaining_output < 0) return outside + std::max(reserved, produced);
    return std::min(how_far.remaining_output + how_far.margin, running.size.tokens) + overrun;
  }
};

}  // namespace sluice::core::testing
