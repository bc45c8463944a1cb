/// \file
/// `sim::recorded_run`: what the log of a real run says of each piece of work: when it came, what became of it, how
/// long it held what it was given, and what it used.
#pragma once

#include <sluice/core/adaptive.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/decision.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/event.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/core/request.hpp>
#include <sluice/core/time.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::sim {

/// What became of a piece of work.
struct fate {
  enum class kind : std::uint8_t {
    /// It still waited when the log ended.
    waiting,
    /// It held what it was given when the log ended.
    running,
    /// It ran to its end, or as far as its owner wanted.
    ended,
    /// It was turned away, for `why`.
    refused,
    /// Its owner gave up while it waited.
    left,
    /// It was stopped for more urgent work, and did not come again.
    stopped,
  };
  kind what = kind::waiting;
  sluice::reason why = sluice::reason::none;
  /// From its arrival to its last grant; without one, to when its fate was sealed or the log ended. What it ran in vain
  /// before counts as waiting.
  duration waited{};
  /// How often it was stopped, and the tokens that it had used then.
  std::uint32_t preemptions = 0;
  std::int64_t wasted_tokens = 0;

  [[nodiscard]] constexpr bool started() const noexcept {
    return what == kind::ended || what == kind::running || what == kind::stopped;
  }
  friend constexpr bool operator==(const fate&, const fate&) noexcept = default;
};

/// What happened to work while it ran; `order` is the number of the event in the log.
struct recorded_report {
  duration after_grant{};
  std::uint64_t order = 0;
  progress how_far{};
};
struct recorded_signal {
  duration after_grant{};
  std::uint64_t order = 0;
  provider_signal what = provider_signal::rate_limited;
};
/// A preemption: how long after the grant it had stopped, how long after it was told to, what it had used, and when it
/// came again after that; negative: it did not.
struct recorded_stop {
  duration after_grant{};
  duration delay{};
  std::uint64_t order = 0;
  std::optional<usage> used{};
  duration again_after{-1};
  std::uint64_t again_order = 0;
};

/// One piece of work: a request, and when it was preempted and came again, all its arrivals together.
struct recorded_request {
  /// As it first came; `run` is the log's.
  core::request asked{};
  instant arrived{};
  std::uint64_t order = 0;
  sim::fate fate{};

  /// How long its last grant was held, and how that ended; negative when it was not held to its end.
  duration held{-1};
  std::uint64_t end_order = 0;
  core::ending how = core::ending::released;
  std::optional<usage> used{};
  /// When it could be stopped from on, after that grant; negative: never.
  duration stoppable_after{-1};
  std::uint64_t stoppable_order = 0;
  std::vector<recorded_report> reports;
  std::vector<recorded_signal> signals;
  std::vector<recorded_stop> stops;
  /// How long after it was told to stop it ended all the same; negative: it was not told.
  duration outran_stop{-1};
  /// When its owner gave up, after its arrival; negative: never.
  duration left_after{-1};
  std::uint64_t left_order = 0;
};

/// An event that is about no piece of work: pauses, the end, runs, signals about nobody.
struct recorded_event {
  std::uint64_t order = 0;
  core::event what{};
  core::event_result result{};
};

/// A whole log, in the form of what happened. A plain value.
class recorded_run {
 public:
  /// Reads a log. One from the middle of a machine's life will do: of work that had come before, it says nothing.
  /// Errors: as `core::event_log_reader`.
  /// Complexity: linear. Thread safety: any thread.
  [[nodiscard]] static expected<recorded_run, error> read(std::string_view log);

  /// The policy in force at the beginning.
  policy initial{capacity{}};
  /// In order of arrival.
  std::vector<recorded_request> requests;
  std::vector<recorded_event> events;
  /// When a machine was told that time has passed: with the numbers of those events.
  std::vector<std::pair<instant, std::uint64_t>> ticks;
  /// The instants of the first and the last event.
  instant begin{};
  instant end{};
  /// How often the policy changed, and how many events were about work of which the log says nothing (any more).
  std::uint64_t reconfigurations = 0;
  std::uint64_t unknown = 0;
};

/// The middle one of some lengths of time; `otherwise` when there is none. O(n).
[[nodiscard]] duration median_of(std::vector<duration> lengths, duration otherwise);

}  // namespace sluice::sim
