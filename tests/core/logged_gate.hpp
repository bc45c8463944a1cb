/// \file
/// The state machine with names for requests and words for effects, so that a test reads like a log.
#pragma once

#include <sluice/core/admission.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sluice::core::testing {

/// What a request may say beside its cost and class.
struct extras {
  instant deadline = never;
  bool may_wait = true;
  sluice::age age{};
  sluice::tenant tenant{};
  /// The name of an open run; empty for none.
  std::string run{};
  bool finalising = false;
  sluice::model model{};
  attempt kind = attempt::first;
};

/// Each event gives its effects as words, in order: `granted a, rejected b (shed), preempt c`. Nothing: `-`.
/// After each, the invariants are checked.
class logged_gate {
 public:
  explicit logged_gate(policy rules) : machine(std::move(rules)) {}

  /// The present, in which events happen.
  instant now{};
  admission machine;
  /// The last wish for a tick, and the decision behind the last rejection.
  instant wake = never;
  decision last{};

  std::string arrive(const std::string& name, cost asked, workload which = interactive, extras more = {}) {
    request made = request_of(asked, which, more);
    made.tag = ++tags_;
    names_[made.tag] = name;
    effects out;
    ids_[name] = machine.arrive(made, now, out);
    return said(out);
  }

  /// What would become of it: `at once`, `waits`, `waits for 1500 ms`, or the reason for which it would be refused.
  /// Twice the same, and nothing has changed.
  std::string would(cost asked, workload which = interactive, extras more = {}) {
    const request made = request_of(asked, which, more);
    const sluice::statistics before = machine.statistics();
    const auto told = machine.forecast(made, now);
    const auto again = machine.forecast(made, now);
    CHECK(told.has_value() == again.has_value());
    const sluice::statistics after = machine.statistics();
    CHECK(after.all == before.all);
    CHECK(after.classes == before.classes);
    CHECK(after.attempts_total == before.attempts_total);
    CHECK(after.tenants == before.tenants);
    CHECK(machine.broken_invariant().value_or("") == "");
    if (!told) {
      last = told.error();
      return std::string(to_string(last.reason));
    }
    CHECK(told->wait == again->wait);
    if (told->at_once) return "at once";
    if (!told->wait) return "waits";
    return "waits for " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(*told->wait).count()) +
           " ms";
  }

  std::string report_limits(const provider_limits& limits) {
    effects out;
    machine.report_limits(limits, now, out);
    return said(out);
  }

  std::string cancel(const std::string& name) {
    effects out;
    const bool done = machine.cancel(ids_.at(name), now, out);
    return done ? said(out) : "not waiting";
  }

  std::string tick() {
    wake = never;
    effects out;
    machine.tick(now, out);
    return said(out);
  }

  std::string report(const std::string& name, progress how_far) {
    effects out;
    const auto done = machine.report(ids_.at(name), how_far, now, out);
    return done ? said(out) : done.error().message();
  }

  std::string stoppable(const std::string& name, bool may = true) {
    effects out;
    machine.set_stoppable(ids_.at(name), may, now, out);
    return said(out);
  }

  std::string finish(const std::string& name, std::optional<usage> used = {}, ending how = ending::released) {
    effects out;
    const bool done = machine.finish(ids_.at(name), how, used, now, out);
    return done ? said(out) : "holds nothing";
  }

  std::string reconfigure(policy next) {
    effects out;
    const auto done = machine.reconfigure(std::move(next), now, out);
    return done ? said(out) : done.error().message();
  }

  std::string close() {
    effects out;
    machine.close(now, out);
    return said(out);
  }

  std::string signal(provider_signal what) {
    effects out;
    machine.signal({}, what, now, out);
    return said(out);
  }

  std::string pause(instant until) {
    effects out;
    machine.pause(until, now, out);
    return said(out);
  }

  /// `-`, or the message. `parent` is the name of a run, or empty.
  std::string open_run(const std::string& name, run_options what, const std::string& parent = {}) {
    if (!parent.empty()) what.parent = runs_.at(parent);
    const auto opened = machine.open_run(what, now);
    if (!opened) return opened.error().message();
    runs_[name] = *opened;
    return "-";
  }

  std::string extend_run(const std::string& name, spending more) {
    effects out;
    const auto done = machine.extend_run(runs_.at(name), more, now, out);
    return done ? said(out) : done.error().message();
  }

  std::string charge_run(const std::string& name, spending what) {
    effects out;
    const auto done = machine.charge_run(runs_.at(name), what, now, out);
    return done ? said(out) : done.error().to_error().message();
  }

  std::string close_run(const std::string& name, bool hold = false) {
    effects out;
    const bool done = machine.close_run(runs_.at(name), now, out, hold);
    return done ? said(out) : "not open";
  }

  [[nodiscard]] run_balance balance(const std::string& name) const { return machine.balance(runs_.at(name)).value(); }

  [[nodiscard]] class_statistics all() const { return machine.statistics().all; }
  [[nodiscard]] class_statistics of(workload which) const { return machine.statistics()[which]; }
  [[nodiscard]] std::int64_t held() const { return all().held.tokens; }
  [[nodiscard]] request_id id(const std::string& name) const { return ids_.at(name); }
  [[nodiscard]] decision explain(const std::string& name) const { return machine.explain(ids_.at(name)).value(); }
  [[nodiscard]] age age_of(const std::string& name) const { return machine.age_of(ids_.at(name)).value(); }

 private:
  [[nodiscard]] request request_of(cost asked, workload which, const extras& more) const {
    request made;
    made.cost = asked;
    made.workload = which;
    made.deadline = more.deadline;
    made.may_wait = more.may_wait;
    made.age = more.age;
    made.tenant = more.tenant;
    if (!more.run.empty()) made.run = runs_.at(more.run);
    made.finalising = more.finalising;
    made.model = more.model;
    made.kind = more.kind;
    return made;
  }

  std::string said(const effects& out) {
    std::string text;
    for (const effect& one : out.list) {
      if (one.what == effect::kind::wake_at) {
        wake = one.at;
        continue;
      }
      if (one.what == effect::kind::budget_threshold) {
        text += (text.empty() ? "budget at " : ", budget at ") + std::to_string(one.detail) + " %";
        continue;
      }
      if (!text.empty()) text += ", ";
      const std::string& name = names_.at(one.tag);
      switch (one.what) {
        case effect::kind::granted: text += "granted " + name; break;
        case effect::kind::preempt: text += "preempt " + name; break;
        case effect::kind::stop: text += "stop " + name; break;
        case effect::kind::rejected:
          last = out.decisions.at(one.detail);
          text += "rejected " + name + " (" + std::string(to_string(last.reason)) + ")";
          break;
        case effect::kind::budget_threshold:
        case effect::kind::wake_at: break;
      }
    }
    CHECK(machine.broken_invariant().value_or("") == "");
    return text.empty() ? "-" : text;
  }

  std::uint64_t tags_ = 0;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::string, request_id> ids_;
  std::map<std::string, run_id> runs_;
};

/// A policy without floors, so that only what a test sets is in the way.
inline policy bare(capacity total) {
  policy made(total);
  made.bypass.passes = 0;
  made.feasibility.enabled = false;
  made.overload.enabled = false;
  for (class_policy& each : made.classes) {
    each.floor = {};
    each.priority = 0;
    each.preemptible = false;
    each.elastic = {};
    each.start_within = {};
  }
  return made;
}

}  // namespace sluice::core::testing
