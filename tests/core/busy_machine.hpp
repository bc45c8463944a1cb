/// \file
/// A machine with everything switched on, and random events of every kind, so that a log of it holds all there is.
#pragma once

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sluice::core::testing {

inline policy busy_policy(std::uint64_t revision = 1) {
  using namespace std::chrono_literals;
  policy made({12, 6'000});
  made.revision = revision;
  const workload evals = made.add_class(class_policy("evals"));
  made[interactive].floor = {6, 3'000};
  made[interactive].restore_within = 40ms;
  made[batch].floor = {1, 500};
  made[batch].elastic = {.enabled = true, .minimum = 1, .backoff = 0.5, .target = 20ms, .window = 50ms};
  made[evals].priority = -5;
  made[evals].preemptible = true;
  made[evals].ceiling = {8, 5'000};
  made[evals].max_waiting = 12;
  made.max_waiting = 40;
  made.rates = {.requests = {60'000, 20}, .input_tokens = {40'000'000, 20'000}, .output_tokens = {}};
  made.tenants.emplace_back("acme");
  made.tenants.back().weight = 3;
  made.tenants.back().rates.requests = {20'000, 8};
  made.max_tenants = 4;
  made.overload = {.enabled = true, .enter = 0.05, .leave = 0.01, .window = 200ms, .age_cap = 100ms};
  made.adaptive = {.enabled = true, .minimum = 2, .initial = 10, .backoff = 0.7, .tolerance = 2, .window = 50ms};
  made.bypass = {.passes = 4, .patience = 30ms};
  made.prices.emplace_back("large");
  made.prices.back().input_per_million = 3'000'000;
  made.prices.back().output_per_million = 15'000'000;
  return made;
}

/// Random events, the same for the same seed.
class busy_machine {
 public:
  explicit busy_machine(std::uint64_t seed, policy rules = busy_policy()) : machine(std::move(rules)), draw_(seed) {}

  admission machine;
  /// How often each effect came, by kind, and rejections by reason.
  std::vector<std::uint64_t> seen = std::vector<std::uint64_t>(static_cast<std::size_t>(effect::kind::stop) + 1);
  std::vector<std::uint64_t> rejected_for = std::vector<std::uint64_t>(16);

  void step() {
    now_ += duration(upto(9) == 0 ? upto(40'000'000) : upto(3'000'000));
    // Now and then the clock is behind, or was not asked.
    const instant when = upto(31) == 0 ? instant::min() : upto(15) == 0 ? now_ - duration(1'000) : now_;
    // A caller need not clear what it has seen.
    if (upto(3) != 0) out_.clear();
    const std::size_t from = out_.list.size();
    const std::int64_t kind = upto(999);
    if (kind < 400)
      arrive(when);
    else if (kind < 440)
      cancel(when);
    else if (kind < 500)
      machine.tick(when, out_);
    else if (kind < 600)
      report(when);
    else if (kind < 680)
      stoppable(when);
    else if (kind < 930)
      finish(when);
    else if (kind < 945)
      machine.signal(upto(1) == 0 ? request_id{} : pick(running_), static_cast<provider_signal>(upto(2)), when, out_);
    else if (kind < 947)
      machine.report_limits(
          {.requests = {6'000'000, upto(99)}, .tokens = {.remaining = upto(9'000), .reset = duration(upto(5'000'000))}},
          when, out_);
    else if (kind < 950)
      machine.pause(now_ + duration(upto(20'000'000)), when, out_);
    else if (kind < 970)
      open_run(when);
    else if (kind < 980)
      (void)machine.extend_run(pick_run(), {upto(500), upto(2), upto(2), upto(9) == 0 ? -1 : upto(20)}, when, out_);
    else if (kind < 986)
      (void)machine.charge_run(pick_run(), {upto(50), 0, upto(9) == 0 ? -1 : upto(2), upto(9)}, when, out_);
    else if (kind < 995)
      machine.close_run(pick_run(), when, out_, upto(2) == 0);
    else
      reconfigure(when);
    take_in(from);
  }

  void close() {
    out_.clear();
    machine.close(now_, out_);
    take_in(0);
  }

 private:
  std::int64_t upto(std::int64_t most) {
    return static_cast<std::int64_t>(draw_() % (static_cast<std::uint64_t>(most) + 1));
  }
  template <typename Id>
  Id pick(const std::vector<Id>& among) {
    return among.empty() ? Id{} : among[static_cast<std::size_t>(upto(static_cast<std::int64_t>(among.size()) - 1))];
  }
  run_id pick_run() { return upto(20) == 0 ? run_id{7, 77} : pick(runs_); }

  void arrive(instant when) {
    request what;
    what.tag = upto(2) == 0 ? static_cast<std::uint64_t>(draw_()) : ++tags_;
    what.workload = workload(static_cast<std::uint8_t>(upto(40) == 0 ? 99 : upto(2)));
    what.cost.tokens = upto(60) == 0 ? upto(20'000) - 5'000 : upto(900);
    what.cost.output_tokens = upto(2) == 0 ? 0 : upto(std::max<std::int64_t>(what.cost.tokens, 0));
    what.cost.slots = upto(9) == 0 ? upto(3) : 1;
    what.may_wait = upto(7) != 0;
    if (upto(1) == 0) what.deadline = now_ + duration(upto(1) == 0 ? 100'000'000 : upto(400'000'000) - 5'000'000);
    if (upto(1) == 0) what.tenant = upto(1) == 0 ? tenant("acme") : tenant(static_cast<std::uint64_t>(upto(6)));
    if (upto(1) == 0) what.model = model(upto(1) == 0 ? "large" : "small");
    if (upto(2) == 0 && !runs_.empty()) what.run = pick_run();
    what.finalising = upto(9) == 0;
    if (upto(5) == 0) what.kind = static_cast<attempt>(1 + upto(1));
    if (!ages_.empty()) {
      what.age = ages_.back();
      ages_.pop_back();
    }
    if (upto(3) == 0) {
      const request_id id = machine.enter(what, when);
      if (id != request_id{}) return running_.push_back(id);
    }
    const request_id id = machine.arrive(what, when, out_);
    if (id != request_id{}) waiting_.push_back(id);
  }

  void cancel(instant when) { machine.cancel(pick(upto(9) == 0 ? running_ : waiting_), when, out_); }

  void report(instant when) {
    progress far{upto(300), upto(300), upto(400) - 60, upto(9) == 0 ? -1 : 128};
    (void)machine.report(pick(running_), far, when, out_);
  }

  void stoppable(instant when) { machine.set_stoppable(pick(running_), upto(5) != 0, when, out_); }

  void finish(instant when) {
    const bool stopped = !stopping_.empty() && upto(1) == 0;
    const request_id id = stopped ? stopping_.back() : pick(running_);
    if (stopped) {
      stopping_.pop_back();
      if (auto kept = machine.age_of(id)) {
        ++kept->preemptions;
        ages_.push_back(*kept);
      }
    }
    std::optional<usage> used;
    if (upto(3) != 0) used = usage{upto(500), upto(500)};
    const ending how = stopped ? ending::preempted : upto(9) == 0 ? ending::abandoned : ending::released;
    machine.finish(id, how, used, when, out_);
    if (upto(30) != 0) std::erase(running_, id);
  }

  void open_run(instant when) {
    run_options what;
    what.tag = static_cast<std::uint64_t>(runs_.size()) + 1'000;
    what.limit = {200 + upto(3'000), 1 + upto(9), upto(4), upto(1) == 0 ? unlimited : 5 + upto(60)};
    if (!runs_.empty() && upto(1) == 0) {
      what.parent = pick_run();
      what.funding = static_cast<run_funding>(upto(2));
    } else {
      what.finalise_reserve = {.tokens = upto(100), .calls = upto(1)};
    }
    if (const auto opened = machine.open_run(what, when)) runs_.push_back(*opened);
  }

  void reconfigure(instant when) {
    policy next = machine.current_policy();
    // Sometimes not new, and sometimes not valid.
    if (upto(4) != 0) ++next.revision;
    next.total = {8 + upto(8), 4'500 + upto(4'000)};
    next[interactive].floor.slots = upto(6);
    next[batch].restore_within = duration(upto(3) == 0 ? -1 : upto(90'000'000));
    next.observe = upto(5) == 0;
    next.adaptive.enabled = upto(2) != 0;
    (void)machine.reconfigure(next, when, out_);
  }

  void take_in(std::size_t from) {
    for (std::size_t i = from; i < out_.list.size(); ++i) {
      const effect& each = out_.list[i];
      ++seen[static_cast<std::size_t>(each.what)];
      if (each.what == effect::kind::granted) running_.push_back(each.id);
      if (each.what == effect::kind::preempt) stopping_.push_back(each.id);
      if (each.what == effect::kind::rejected)
        ++rejected_for[static_cast<std::size_t>(out_.decisions[each.detail].reason)];
      if (each.what != effect::kind::preempt) std::erase(waiting_, each.id);
    }
  }

  std::mt19937_64 draw_;
  instant now_{};
  effects out_;
  std::uint64_t tags_ = 0;
  std::vector<request_id> waiting_;
  std::vector<request_id> running_;
  std::vector<request_id> stopping_;
  std::vector<run_id> runs_;
  std::vector<age> ages_;
};

}  // namespace sluice::core::testing
