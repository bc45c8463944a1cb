#include <sluice/sim/trial.hpp>

#include "core/slab.hpp"

#include <sluice/sim/shared_processor.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sluice::sim {
namespace {

enum class place : std::uint8_t { unused, at_arm, running, stopping, backing_off };

// A request under way.
struct traveller {
  trace_request asked;
  visit so_far;
  instant deadline = never;
  processor_ticket ticket{};
  // Tells an attempt's events, and a cell's user, from those before.
  std::uint32_t grant = 0;
  std::uint32_t life = 0;
  std::uint32_t next_free = 0;
  place where = place::unused;
};

struct alarm {
  enum class kind : std::uint8_t { retry, stopped, hang_up, out_of_patience };
  instant when{};
  std::uint64_t turn = 0;
  std::uint32_t id = 0;
  // A grant for a stop, else a life.
  std::uint32_t check = 0;
  kind what = kind::retry;
};

bool later(const alarm& a, const alarm& b) noexcept { return a.when != b.when ? a.when > b.when : a.turn > b.turn; }

duration wait_after(const caller_rules& callers, const trace_request& asked, std::uint32_t attempt) {
  const double factor = std::ldexp(asked.attempts[attempt].jitter, static_cast<int>(attempt));
  return duration(std::llround(static_cast<double>(callers.backoff.count()) * factor));
}

class trial {
 public:
  trial(request_source& traffic, arm& decides, const trial_rules& rules,
        const std::function<void(const visit&)>& on_end, decision_log* log)
      : traffic_(traffic), arm_(decides), rules_(rules), on_end_(on_end), log_(log), provider_(rules.provider) {}

  trial_result run() {
    more_ = traffic_.next(coming_);
    for (;;) {
      const instant change = changes_ < rules_.changes.size() ? rules_.changes[changes_].when : never;
      const instant due = provider_.next();
      const instant rung = alarms_.empty() ? never : alarms_.front().when;
      const instant wake = arm_.wake();
      const instant arrival = more_ ? coming_.arrival : never;
      const instant now = std::max(now_, std::min({change, due, rung, wake, arrival}));
      if (now == never) break;
      if (rules_.sample_every > duration::zero()) take_samples(now);
      now_ = now;
      ++result_.events;
      events_.clear();
      provider_.advance(now, events_);
      // What the provider does comes before what is decided at the same instant.
      if (due <= now) {
        for (const processor_event& each : events_) provider_did(each);
      } else if (change <= now) {
        provider_.set_model(rules_.changes[changes_++].model);
      } else if (rung <= now) {
        ring();
      } else if (wake <= now) {
        arm_.tick(now, actions_);
      } else {
        begin();
      }
      carry_out();
    }
    leave_the_rest();
    result_.end = now_;
    return std::move(result_);
  }

 private:
  void begin() {
    const std::uint32_t id = travellers_.take();
    traveller& it = travellers_[id];
    known_ = std::max(known_, id + 1);
    it.asked = coming_;
    it.so_far = {};
    it.so_far.number = result_.requests++;
    it.so_far.workload = coming_.workload;
    it.so_far.arrival = now_;
    ++it.life;
    const duration within = rules_.callers.done_within[coming_.workload.index()];
    it.deadline = within < duration::zero() ? never : after(now_, within);
    if (rules_.callers.hang_up_at_deadline && it.deadline != never) {
      set_alarm(alarm::kind::hang_up, it.deadline, id, it.life);
    }
    if (rules_.callers.patience_of_retries) {
      set_alarm(alarm::kind::out_of_patience, after(now_, patience(coming_)), id, it.life);
    }
    more_ = traffic_.next(coming_);
    attempt(id);
  }

  [[nodiscard]] duration patience(const trace_request& asked) const {
    duration all{};
    for (std::uint32_t k = 0; k + 1 < rules_.callers.attempts; ++k) all += wait_after(rules_.callers, asked, k);
    return all;
  }

  void attempt(std::uint32_t id) {
    traveller& it = travellers_[id];
    it.where = place::at_arm;
    arm_request asked;
    asked.id = id;
    asked.attempt = it.so_far.attempts++;
    asked.workload = it.asked.workload;
    asked.tenant = it.asked.tenant;
    asked.cost = it.asked.estimate();
    asked.first_arrival = it.so_far.arrival;
    asked.deadline = it.deadline;
    asked.replica = it.asked.attempts[asked.attempt].replica;
    arm_.arrive(asked, now_, actions_);
  }

  void carry_out() {
    // An action may call forth others, which come after those already asked for.
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const arm_action act = actions_[i];
      switch (act.what) {
        case arm_action::kind::start: start(act.id); break;
        case arm_action::kind::refuse: refuse(act.id, act.why); break;
        case arm_action::kind::stop: stop(act.id); break;
      }
    }
    actions_.clear();
  }

  void start(std::uint32_t id) {
    traveller& it = travellers_[id];
    const attempt_draw& drawn = it.asked.attempts[it.so_far.attempts - 1];
    const std::uint64_t tag = (std::uint64_t{++it.grant} << 32U) | id;
    const auto taken = provider_.arrive(tag, {drawn.input_tokens, drawn.output_tokens, true, rules_.report_every});
    note("start", it);
    if (taken.outcome != processor_admission::refused) {
      it.where = place::running;
      it.ticket = taken.ticket;
      it.so_far.first_token = never;
      return;
    }
    ++it.so_far.rejections;
    note("rejected", it);
    arm_.ended(id, attempt_end::rejected, {}, now_, actions_);
    try_again(id);
  }

  void refuse(std::uint32_t id, reason why) {
    traveller& it = travellers_[id];
    ++it.so_far.refusals;
    note("refuse", it, why);
    try_again(id);
  }

  void try_again(std::uint32_t id) {
    traveller& it = travellers_[id];
    if (it.so_far.attempts >= rules_.callers.attempts) return end(id, false);
    it.where = place::backing_off;
    set_alarm(alarm::kind::retry, after(now_, wait_after(rules_.callers, it.asked, it.so_far.attempts - 1)), id,
              it.life);
  }

  void stop(std::uint32_t id) {
    traveller& it = travellers_[id];
    if (it.where != place::running) return;
    ++it.so_far.preemptions;
    note("stop", it);
    if (rules_.stop_delay <= duration::zero()) return stopped(id);
    it.where = place::stopping;
    set_alarm(alarm::kind::stopped, after(now_, rules_.stop_delay), id, it.grant);
  }

  void stopped(std::uint32_t id) {
    traveller& it = travellers_[id];
    const usage spent = take_back(it);
    it.where = place::at_arm;
    arm_.ended(id, attempt_end::stopped, spent, now_, actions_);
  }

  // Out of the provider; what it did is wasted.
  usage take_back(traveller& it) {
    const auto come = provider_.cancel(it.ticket).value_or(shared_processor::progress{});
    ++it.grant;
    it.so_far.tokens += come.input + come.output;
    it.so_far.wasted_tokens += come.input + come.output;
    it.so_far.first_token = never;
    return {come.input, come.output};
  }

  void provider_did(const processor_event& what) {
    const auto id = static_cast<std::uint32_t>(what.tag);
    traveller& it = travellers_[id];
    // What one event called forth may have stopped the job of the next.
    if (it.grant != what.tag >> 32U || (it.where != place::running && it.where != place::stopping)) return;
    const attempt_draw& drawn = it.asked.attempts[it.so_far.attempts - 1];
    switch (what.what) {
      case processor_event::kind::started:
      case processor_event::kind::prompt_done: return;
      case processor_event::kind::produced: {
        const bool first = it.so_far.first_token == never;
        if (first) it.so_far.first_token = now_;
        // Its end comes at once, and says the same.
        if (!first && what.tokens == drawn.output_tokens) return;
        arm_.progressed(id, {drawn.input_tokens, what.tokens}, now_, actions_);
        break;
      }
      case processor_event::kind::finished:
        ++it.grant;
        it.so_far.tokens += drawn.input_tokens + drawn.output_tokens;
        if (it.so_far.first_token == never) it.so_far.first_token = now_;
        arm_.ended(id, attempt_end::completed, {drawn.input_tokens, drawn.output_tokens}, now_, actions_);
        note("done", it);
        end(id, true);
        break;
    }
    carry_out();
  }

  void ring() {
    std::pop_heap(alarms_.begin(), alarms_.end(), later);
    const alarm what = alarms_.back();
    alarms_.pop_back();
    traveller& it = travellers_[what.id];
    switch (what.what) {
      case alarm::kind::retry:
        if (it.life == what.check && it.where == place::backing_off) attempt(what.id);
        break;
      case alarm::kind::stopped:
        if (it.grant == what.check && it.where == place::stopping) stopped(what.id);
        break;
      case alarm::kind::hang_up:
        if (it.life == what.check && it.where != place::unused) hang_up(what.id);
        break;
      case alarm::kind::out_of_patience:
        if (it.life == what.check && it.where == place::at_arm) hang_up(what.id);
        break;
    }
  }

  void hang_up(std::uint32_t id) {
    traveller& it = travellers_[id];
    note("hang-up", it);
    if (it.where == place::at_arm) arm_.gave_up(id, now_, actions_);
    if (it.where == place::running || it.where == place::stopping) {
      arm_.ended(id, attempt_end::abandoned, take_back(it), now_, actions_);
    }
    end(id, false);
  }

  void end(std::uint32_t id, bool well) {
    traveller& it = travellers_[id];
    it.so_far.succeeded = well;
    it.so_far.end = now_;
    it.where = place::unused;
    const visit over = it.so_far;
    travellers_.give(id);
    on_end_(over);
  }

  void leave_the_rest() {
    std::vector<visit> left;
    for (std::uint32_t id = 0; id < known_; ++id) {
      if (travellers_[id].where != place::unused) left.push_back(travellers_[id].so_far);
    }
    std::sort(left.begin(), left.end(), [](const visit& a, const visit& b) { return a.number < b.number; });
    for (const visit& each : left) on_end_(each);
  }

  void take_samples(instant until) {
    while (next_sample_ <= until) {
      result_.samples.push_back({next_sample_, arm_.levels(), provider_.running(), provider_.waiting()});
      next_sample_ += rules_.sample_every;
    }
  }

  void set_alarm(alarm::kind what, instant when, std::uint32_t id, std::uint32_t check) {
    alarms_.push_back({when, turns_++, id, check, what});
    std::push_heap(alarms_.begin(), alarms_.end(), later);
  }

  void note(const char* what, const traveller& whom, reason why = reason::none) {
    if (log_ != nullptr) log_->note(now_, what, whom.so_far.number, why);
  }

  request_source& traffic_;
  arm& arm_;
  const trial_rules& rules_;
  const std::function<void(const visit&)>& on_end_;
  decision_log* log_;
  shared_processor provider_;
  core::slab<traveller, &traveller::next_free> travellers_;
  std::uint32_t known_ = 0;
  std::vector<alarm> alarms_;
  std::vector<processor_event> events_;
  arm::actions actions_;
  trace_request coming_;
  bool more_ = false;
  instant now_{};
  instant next_sample_{};
  std::size_t changes_ = 0;
  std::uint64_t turns_ = 0;
  trial_result result_;
};

}  // namespace

trial_result run_trial(request_source& traffic, arm& decides, const trial_rules& rules,
                       const std::function<void(const visit&)>& on_end, decision_log* log) {
  return trial(traffic, decides, rules, on_end, log).run();
}

}  // namespace sluice::sim
