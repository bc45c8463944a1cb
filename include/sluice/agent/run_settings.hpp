/// \file
/// `run_settings`: how a run is opened, what it may spend and until when.
#pragma once

#include <sluice/core/run.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace sluice::agent {

/// How a run is opened. A plain value; what is not said is inherited. A child may tighten what it inherits, never widen
/// it: a deadline later than its parent's, or a limit above it, is the parent's.
class run_settings {
 public:
  run_settings() = default;
  /// `run_name`: for people; errors name a run by its path, `nightly/research/page 7`.
  explicit run_settings(std::string run_name) : name(std::move(run_name)) {}

  /// The most that it may spend, all that it starts included. Below a parent this caps it (`run_funding::cap`), unless
  /// `carve` says otherwise.
  run_settings& limit(run_limits most) & {
    limits = most;
    if (funding == run_funding::share) funding = run_funding::cap;
    return *this;
  }
  run_settings limit(run_limits most) && { return std::move(limit(most)); }
  /// The same, taken out of the parent's budget for it alone; what it did not spend goes back when it closes.
  run_settings& carve(run_limits most) & {
    limits = most;
    funding = run_funding::carve;
    return *this;
  }
  run_settings carve(run_limits most) && { return std::move(carve(most)); }
  /// Of a root's limit, what its last answer alone may spend, and of its deadline, the time that is kept for it.
  run_settings& keep_for_last_answer(spending reserve, duration time = {}) & {
    finalise_reserve = reserve;
    finalise_time = time;
    return *this;
  }
  run_settings keep_for_last_answer(spending reserve, duration time = {}) && {
    return std::move(keep_for_last_answer(reserve, time));
  }
  run_settings& until(instant when) & {
    deadline = when;
    return *this;
  }
  run_settings until(instant when) && { return std::move(until(when)); }
  run_settings& as(sluice::workload which) & {
    workload = which;
    return *this;
  }
  run_settings as(sluice::workload which) && { return std::move(as(which)); }
  run_settings& on_behalf_of(sluice::tenant who) & {
    tenant = who;
    return *this;
  }
  run_settings on_behalf_of(sluice::tenant who) && { return std::move(on_behalf_of(who)); }

  /// Of a child: whoever opens it goes on beside it, and does not wait for it; else its parent is taken to. See
  /// `run_scope::child`.
  run_settings& beside_parent() & {
    awaited = false;
    return *this;
  }
  run_settings beside_parent() && { return std::move(beside_parent()); }

  std::string name = "run";
  run_limits limits{};
  /// `share` without a limit of its own, `cap` and `carve` with one. A root pays by its limit, whatever stands here.
  run_funding funding = run_funding::share;
  /// Roots alone.
  spending finalise_reserve{};
  /// Of any run: what ends so long before its deadline is the ordinary work; the rest is for its last answer.
  duration finalise_time{};
  instant deadline = never;
  /// Without: the parent's; of a root, `interactive` and nobody's.
  std::optional<sluice::workload> workload{};
  std::optional<sluice::tenant> tenant{};
  /// Tool calls that run at once, in the whole tree of a root; a child's own may be lower, never higher. Zero: the
  /// parent's; of a root, 8.
  std::int64_t width = 0;
  /// Whether its parent waits for it; of `run_scope::child` and `within` alone. Groups and tool calls know.
  bool awaited = true;
  /// How long `leave` waits for what it has cancelled.
  duration grace = std::chrono::seconds(5);
  /// Told when the run, with all below it, has spent or set aside 50, 80, 95 and 100 percent of a limit of its own:
  /// each once, unless an extension has led below it. On the gate's executor; what it throws is dropped.
  std::function<void(std::uint32_t percent)> on_threshold;
};

}  // namespace sluice::agent
