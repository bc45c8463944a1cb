/// \file
/// A world so small that everything that can happen in it can be tried: two classes, two tenants, a run with two below
/// it, at most three waiters, three slots.
#pragma once

#include "core/paired_machine.hpp"

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::core::testing {

/// From where a small world begins.
enum class beginning : std::uint8_t {
  /// Nobody is there.
  empty,
  /// Batch has borrowed the whole pool.
  lent,
  /// The provider's rate lets little through, and its limit moves.
  metered,
};

/// One event of a small world.
struct move {
  enum class kind : std::uint8_t {
    arrive,
    enter,
    cancel,
    expire,
    release,
    reconcile,
    hold_on,
    preempt,
    reconfigure,
    signal,
    pause,
    report_limits,
    open_run,
    extend_run,
    charge_run,
    close_run,
    close,
  };
  kind what{};
  /// Which waiter, which grant, which run, or which kind of request.
  std::uint8_t which = 0;
};
inline constexpr std::array<const char*, 17> move_names{
    "arrive", "enter", "cancel",        "expire",   "release",    "reconcile",  "hold_on",   "preempt", "reconfigure",
    "signal", "pause", "report_limits", "open_run", "extend_run", "charge_run", "close_run", "close"};

class small_world {
 public:
  static constexpr std::size_t most_arrivals = 4;
  static constexpr std::size_t kinds_of_requests = 9;
  static constexpr std::int64_t latest = 3;

  paired_machine both;
  paired_machine::complaint wrong;

  /// Nothing is compared but the effects until `both.replaying` is turned off.
  explicit small_world(beginning from) : both(rules(from, 1)), from_(from) {
    both.replaying = true;
    if (from == beginning::lent) {
      for (int i = 0; i < 3; ++i) play({move::kind::arrive, 1});
      arrivals_ = 0;
    }
    root_ = open({}, run_funding::share, 5);
    open(root_, run_funding::cap, 3);
  }

  void play(move next) {
    switch (next.what) {
      case move::kind::arrive: arrive(next.which, false); break;
      case move::kind::enter: arrive(next.which, true); break;
      case move::kind::cancel: note(both.cancel(waiting()[next.which].asked.tag, now_)); break;
      case move::kind::expire:
        now_ += duration(1);
        note(both.tick(now_));
        break;
      case move::kind::release:
        note(both.finish(running()[next.which].asked.tag, ending::released, usage{1, 0}, now_));
        break;
      case move::kind::reconcile: note(both.report(running()[next.which].asked.tag, {1, 0, 0, 1}, now_)); break;
      case move::kind::hold_on: note(both.set_stoppable(running()[next.which].asked.tag, false, now_)); break;
      case move::kind::preempt: stop(running()[next.which]); break;
      case move::kind::reconfigure:
        note(both.reconfigure(rules(from_, both.model().rules().revision + 1), now_));
        break;
      case move::kind::signal: note(both.signal(provider_signal::overloaded, now_)); break;
      case move::kind::pause: note(both.pause(now_ + duration(1), now_)); break;
      case move::kind::report_limits:
        note(both.report_limits({.requests = {.remaining = 1, .reset = duration(2)}}, now_));
        break;
      case move::kind::open_run: open(root_, run_funding::carve, 2); break;
      case move::kind::extend_run: note(both.extend_run(root_, {.tokens = 1}, now_)); break;
      case move::kind::charge_run:
        note(both.charge_run(both.model().runs.all[next.which].id, {.tokens = 1, .tool_calls = 1}, now_));
        break;
      case move::kind::close_run: note(both.close_run(both.model().runs.all[next.which].id, now_)); break;
      case move::kind::close: note(both.close(now_)); break;
    }
    if (next.what == move::kind::hold_on) return;
    for (const piece& one : std::vector<piece>(running())) {
      if (one.workload() == 1 && !one.stoppable) note(both.set_stoppable(one.asked.tag, true, now_));
    }
  }

  [[nodiscard]] std::vector<move> moves() const {
    std::vector<move> all;
    const auto add = [&all](move::kind what, std::size_t which = 0) {
      all.push_back({what, static_cast<std::uint8_t>(which)});
    };
    if (arrivals_ < most_arrivals) {
      for (std::size_t i = 0; i < kinds_of_requests; ++i) add(move::kind::arrive, i);
      add(move::kind::enter, 6);
    }
    for (std::size_t i = 0; i < waiting().size(); ++i) add(move::kind::cancel, i);
    if (now_ < instant{} + duration(latest)) add(move::kind::expire);
    for (std::size_t i = 0; i < running().size(); ++i) {
      add(move::kind::release, i);
      if (running()[i].hold > 1) add(move::kind::reconcile, i);
      if (running()[i].stoppable && !running()[i].stopping) add(move::kind::hold_on, i);
      if (running()[i].stopping) add(move::kind::preempt, i);
    }
    if (both.model().rules().revision < 3) add(move::kind::reconfigure);
    if (from_ == beginning::metered) add(move::kind::signal);
    if (from_ == beginning::metered && now_ < instant{} + duration(1)) add(move::kind::report_limits);
    if (now_ < instant{} + duration(1)) add(move::kind::pause);
    const auto& runs = both.model().runs.all;
    if (runs.size() < 3 && runs[0].open) add(move::kind::open_run);
    if (runs[0].open && runs[0].limit[0] < 6) add(move::kind::extend_run);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (runs[run].open) add(move::kind::close_run, run);
      if (runs[run].open && run < 2) add(move::kind::charge_run, run);
    }
    if (!both.model().closed()) add(move::kind::close);
    return all;
  }

  /// Equal for states that nothing can tell apart from now on.
  [[nodiscard]] std::string signature() const {
    std::string text;
    const auto put = [&text](std::int64_t number) {
      text.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    put(now_.time_since_epoch().count());
    put(static_cast<std::int64_t>(both.model().rules().revision));
    put(static_cast<std::int64_t>(arrivals_));
    for (const std::int64_t number : both.model().hidden_state()) put(number);
    for (const auto* const list : {&waiting(), &running()}) {
      put(static_cast<std::int64_t>(list->size()));
      for (const piece& one : *list) {
        put(static_cast<std::int64_t>(one.asked.tag));
        put(static_cast<std::int64_t>(one.workload()));
        put(static_cast<std::int64_t>(one.tenant));
        put(static_cast<std::int64_t>(one.run.value_or(9)));
        put(static_cast<std::int64_t>(one.parked_at.value_or(9)));
        put(one.size.tokens);
        put(one.asked.deadline.time_since_epoch().count());
        put(one.arrived.time_since_epoch().count());
        put(one.preemptions * 8 + one.continuing * 4 + one.stoppable * 2 + one.stopping);
        put(one.hold);
        put(one.used.input_tokens);
        // Ages and numbers matter by their order alone.
        put(std::count_if(list->begin(), list->end(),
                          [&one](const piece& other) { return other.sequence < one.sequence; }));
        put(std::count_if(list->begin(), list->end(),
                          [&one](const piece& other) { return other.number < one.number; }));
      }
    }
    return text;
  }

  /// Lets everything end; then every request must have had one answer and nothing may be held.
  void drain() {
    both.replaying = true;
    while (!running().empty() || !waiting().empty()) {
      note(running().empty() ? both.cancel(waiting().front().asked.tag, now_)
                             : both.finish(running().front().asked.tag, ending::released, {}, now_));
      if (wrong) return;
    }
    note(both.check_empty());
  }

 private:
  /// Three revisions, so that a shrink can be taken back.
  static policy rules(beginning from, std::uint64_t revision) {
    const bool large = revision % 2 == 1;
    policy made(large ? capacity{3, 6} : capacity{1, 3});
    made.classes[0].floor = large ? capacity{2, 4} : capacity{1, 2};
    made.classes[0].priority = 1;
    made.classes[0].restore_within = duration(1);
    made.classes[1].floor = large ? capacity{1, 2} : capacity{};
    made.classes[1].preemptible = true;
    made.classes[1].elastic = {};
    made.classes[0].start_within = {};
    made.max_waiting = 3;
    made.max_preemptions = 1;
    made.revision = revision;
    made.feasibility.enabled = false;
    made.overload.enabled = false;
    made.bypass = {1, duration(2)};
    made.reopening = {0, duration(1), duration(1), duration(1)};
    made.tenants.emplace_back("other");
    made.tenants.back().weight = 2;
    // One every two nanoseconds, and one at once.
    made.tenants.back().rates.requests = {30'000'000'000, 1};
    if (from != beginning::metered) return made;
    made.rates.input_tokens = {60'000'000'000, 3};
    made.adaptive.enabled = true;
    made.adaptive.window = duration(1);
    made.observe = revision == 3;
    return made;
  }

  [[nodiscard]] const std::vector<piece>& waiting() const { return both.model().waiting; }
  [[nodiscard]] const std::vector<piece>& running() const { return both.model().holding; }

  void note(const paired_machine::complaint& what) {
    if (!wrong) wrong = what;
  }

  void arrive(std::uint8_t which, bool at_once) {
    ++arrivals_;
    request made;
    made.tag = ++tags_;
    const auto& runs = both.model().runs.all;
    switch (which) {
      case 0: break;
      case 1: made.workload = batch; break;
      case 2: made.cost.tokens = 3; break;
      case 3:
        made.workload = batch;
        made.cost.tokens = 3;
        break;
      case 4: made.deadline = now_ + duration(1); break;
      case 5:
        made.workload = batch;
        made.tenant = tenant("other");
        break;
      case 6: made.tenant = tenant("other"); break;
      case 7:
        made.workload = batch;
        made.run = runs[0].id;
        made.cost.tokens = 2;
        break;
      default:
        made.run = runs.back().id;
        made.cost.tokens = 2;
        break;
    }
    if (made.cost.tokens == 0) made.cost.tokens = 1;
    note(at_once ? both.arrive_at_once(made, now_) : both.arrive(made, now_));
  }

  run_id open(run_id parent, run_funding funding, std::int64_t tokens) {
    run_options made;
    made.parent = parent;
    made.funding = funding;
    made.limit.tokens = tokens;
    made.tag = ++tags_;
    note(both.open_run(made, now_));
    return both.model().runs.all.back().id;
  }

  /// The work has stopped, and comes again with its age.
  void stop(const piece& victim) {
    request again = victim.asked;
    again.tag = ++tags_;
    again.deadline = never;
    again.age = both.age_when_preempted(victim.asked.tag).value();
    note(both.finish(victim.asked.tag, ending::preempted, usage{1, 0}, now_));
    note(both.arrive(again, now_));
  }

  beginning from_;
  instant now_{};
  run_id root_{};
  std::size_t arrivals_ = 0;
  std::uint64_t tags_ = 0;
};

}  // namespace sluice::core::testing
