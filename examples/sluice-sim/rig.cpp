#include "rig.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice_sim {

using sluice::core::effect;
using sluice::sim::processor_event;

rig::rig(rig_rules rules)
    : rules_(std::move(rules)), gate_(rules_.policy), provider_(rules_.provider), draw_(rules_.seed) {}

void rig::send(const errand& what, std::function<void(const record&)> then) {
  const std::uint64_t number = guests_.size();
  guest& added = guests_.emplace_back();
  added.so_far.what = what;
  added.so_far.arrived = time_.now();
  added.then = std::move(then);
  added.asked.cost = {what.input_tokens + what.max_tokens, what.max_tokens, 1};
  added.asked.workload = what.workload;
  added.asked.tenant = what.tenant;
  added.asked.run = what.run;
  added.asked.tag = number;
  arrive(number);
}

void rig::arrive(std::uint64_t number) {
  const auto id = gate_.arrive(guests_[number].asked, time_.now(), effects_);
  guests_[number].id = id;
  carry_out();
}

sluice::run_id rig::open_run(sluice::run_id parent) {
  sluice::run_options options;
  options.parent = parent;
  const auto opened = gate_.open_run(options, time_.now());
  if (!opened) throw sluice::error_exception(opened.error());
  return *opened;
}

void rig::close_run(sluice::run_id which) {
  gate_.close_run(which, time_.now(), effects_);
  carry_out();
}

void rig::change(const sluice::sim::provider_model& model) {
  advance_provider();
  provider_.set_model(model);
  plan_provider();
}

void rig::change(sluice::policy policy) {
  policy.revision = gate_.current_policy().revision + 1;
  if (auto done = gate_.reconfigure(std::move(policy), time_.now(), effects_); !done) {
    throw sluice::error_exception(done.error());
  }
  carry_out();
}

// What effects call forth has effects of its own: only the outermost call goes through them, so that none is carried
// out before those that came earlier.
void rig::carry_out() {
  if (busy_) return;
  busy_ = true;
  for (;;) {
    while (!effects_.list.empty()) {
      std::swap(effects_, doing_);
      effects_.clear();
      for (const effect& each : doing_.list) {
        switch (each.what) {
          case effect::kind::granted:
            guests_[each.tag].id = each.id;
            start(each.tag);
            break;
          case effect::kind::rejected: end(each.tag, fate::refused); break;
          case effect::kind::preempt: stop(each.tag); break;
          case effect::kind::wake_at:
            wanted_tick_ = each.at;
            if (each.at == sluice::never) break;
            time_.at(each.at, [this, at = each.at] {
              if (wanted_tick_ != at) return;
              wanted_tick_ = sluice::never;
              gate_.tick(time_.now(), effects_);
              carry_out();
            });
            break;
          case effect::kind::stop:
          case effect::kind::budget_threshold: break;
        }
      }
    }
    mark_victims();
    if (effects_.list.empty()) break;
  }
  busy_ = false;
  plan_provider();
}

void rig::start(std::uint64_t number) {
  advance_provider();
  guest& it = guests_[number];
  const errand& what = it.so_far.what;
  ++it.start;
  it.produced = 0;
  it.marked = it.stopping = false;
  it.so_far.first_token = sluice::never;
  it.so_far.started = time_.now();
  const std::uint64_t tag = std::uint64_t{it.start} << 40U | number;
  const auto taken = provider_.arrive(tag, {what.input_tokens, what.output_tokens, true, rules_.report_every});
  if (taken.outcome == sluice::sim::processor_admission::refused) {
    gate_.signal(it.id, sluice::provider_signal::rate_limited, time_.now(), effects_);
    gate_.finish(it.id, sluice::core::ending::abandoned, sluice::usage{}, time_.now(), effects_);
    end(number, fate::rate_limited);
    return;
  }
  it.ticket = taken.ticket;
  it.running = true;
  running_.push_back(number);
  if (what.time_out >= sluice::duration::zero()) {
    time_.in(what.time_out, [this, number, begun = it.start] {
      if (still(number, begun)) give_up(number);
    });
  }
  on_start(it.so_far);
}

void rig::stop(std::uint64_t number) {
  guest& it = guests_[number];
  if (!it.running || it.stopping) return;
  it.stopping = true;
  time_.in(rules_.stop_delay, [this, number, begun = it.start] {
    if (still(number, begun)) stopped(number);
  });
}

sluice::usage rig::take_back(std::uint64_t number) {
  advance_provider();
  guest& it = guests_[number];
  const auto come = provider_.cancel(it.ticket).value_or(sluice::sim::shared_processor::progress{});
  it.running = false;
  std::erase(running_, number);
  it.so_far.wasted_tokens += come.input + come.output;
  return {come.input, come.output};
}

void rig::stopped(std::uint64_t number) {
  const auto spent = take_back(number);
  guest& it = guests_[number];
  ++it.so_far.stops;
  if (const auto kept = gate_.age_of(it.id)) {
    it.asked.age = *kept;
    ++it.asked.age.preemptions;
  }
  gate_.finish(it.id, sluice::core::ending::preempted, spent, time_.now(), effects_);
  arrive(number);
}

void rig::give_up(std::uint64_t number) {
  const auto spent = take_back(number);
  gate_.signal(guests_[number].id, sluice::provider_signal::timed_out, time_.now(), effects_);
  gate_.finish(guests_[number].id, sluice::core::ending::abandoned, spent, time_.now(), effects_);
  end(number, fate::timed_out);
  carry_out();
}

void rig::end(std::uint64_t number, fate how) {
  guest& it = guests_[number];
  it.over = true;
  it.so_far.end = how;
  it.so_far.ended = time_.now();
  time_.at(time_.now(), [this, number] {
    // Taken out first: what it does may make room for more guests.
    const auto then = std::move(guests_[number].then);
    const record over = guests_[number].so_far;
    then(over);
  });
}

void rig::provider_did(const processor_event& what) {
  const std::uint64_t number = what.tag & ((std::uint64_t{1} << 40U) - 1);
  if (!still(number, static_cast<std::uint32_t>(what.tag >> 40U))) return;
  guest& it = guests_[number];
  const errand& asked = it.so_far.what;
  switch (what.what) {
    case processor_event::kind::started:
    case processor_event::kind::prompt_done: return;
    case processor_event::kind::produced: {
      if (it.so_far.first_token == sluice::never) it.so_far.first_token = time_.now();
      it.produced = what.tokens;
      sluice::progress how_far;
      how_far.input_tokens = asked.input_tokens;
      how_far.output_tokens = what.tokens;
      how_far.remaining_output = std::max<std::int64_t>(0, asked.max_tokens - what.tokens);
      // Nothing in it could be refused: the counts are the provider's.
      static_cast<void>(gate_.report(it.id, how_far, time_.now(), effects_));
      break;
    }
    case processor_event::kind::finished:
      it.running = false;
      std::erase(running_, number);
      gate_.finish(it.id, sluice::core::ending::released, sluice::usage{asked.input_tokens, asked.output_tokens},
                   time_.now(), effects_);
      end(number, fate::answered);
      break;
  }
  carry_out();
}

void rig::advance_provider() {
  std::vector<processor_event> happened;
  provider_.advance(time_.now(), happened);
  events_.insert(events_.end(), happened.begin(), happened.end());
}

void rig::plan_provider() {
  const sluice::instant next = events_.empty() ? provider_.next() : time_.now();
  if (next == sluice::never || next == planned_) return;
  planned_ = next;
  time_.at(next, [this, next] {
    // A nearer plan has been made since.
    if (planned_ != next) return;
    planned_ = sluice::never;
    advance_provider();
    const auto happened = std::exchange(events_, {});
    for (const processor_event& each : happened) provider_did(each);
    plan_provider();
  });
}

void rig::mark(std::uint64_t number, bool stoppable) {
  guest& it = guests_[number];
  if (it.marked == stoppable) return;
  it.marked = stoppable;
  gate_.set_stoppable(it.id, stoppable, time_.now(), effects_);
}

void rig::mark_victims() {
  if (rules_.victims == victim_rule::nobody) return;
  const auto could_go = [this](std::uint64_t number) {
    const guest& it = guests_[number];
    return !it.stopping && gate_.could_be_preempted(it.id);
  };
  if (rules_.victims == victim_rule::least_sunk) {
    for (const std::uint64_t number : running_) {
      if (could_go(number)) mark(number, true);
    }
    return;
  }
  if (gate_.waiting() == 0) return;
  std::vector<std::uint64_t> able;
  for (const std::uint64_t number : running_) {
    // What the core would not take is no choice either.
    if (could_go(number) && guests_[number].produced * 5 < guests_[number].so_far.what.max_tokens * 4)
      able.push_back(number);
  }
  std::optional<std::uint64_t> one;
  if (!able.empty()) {
    const auto last = static_cast<std::int64_t>(able.size()) - 1;
    one = able[static_cast<std::size_t>(rules_.victims == victim_rule::newest ? last : draw_.between(0, last))];
  }
  for (const std::uint64_t number : running_) {
    if (number != one) mark(number, false);
  }
  // What this makes the core do is carried out before another one is marked.
  if (one) mark(*one, true);
}

}  // namespace sluice_sim
