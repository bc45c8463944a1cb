/// \file
/// `sim::compare`: what would have become of the work of a real run under another policy: who would have waited, been
/// refused, been preempted, and what would have been wasted.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/sim/recorded_run.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

/// What the work of one class, or of all, lived through, once.
struct experience {
  std::uint64_t requests = 0;
  /// Those that were let in, and of those, those that waited for longer than the tolerance.
  std::uint64_t started = 0;
  std::uint64_t waited = 0;
  /// Turned away, in all and by reason; `deadline_in_queue` are those that expired.
  std::uint64_t refused = 0;
  std::array<std::uint64_t, 16> refused_for{};
  /// Gave up while they waited.
  std::uint64_t left = 0;
  /// Still waited at the end of the log.
  std::uint64_t waiting = 0;
  /// How often work was stopped for more urgent work, and what had been used on it by then.
  std::uint64_t preemptions = 0;
  std::int64_t wasted_tokens = 0;
  /// Over those that were let in, from their arrival to their last grant; nearest rank; zero when there are none.
  duration wait_p50{};
  duration wait_p95{};
  duration wait_longest{};

  [[nodiscard]] std::uint64_t expired() const noexcept {
    return refused_for[static_cast<std::size_t>(reason::deadline_in_queue)];
  }
};

/// Then and now, side by side.
struct class_comparison {
  /// The class's name; `all` for all together.
  std::string name;
  experience then;
  experience now;
  /// Of those that were let in both times: whose wait changed by more than the tolerance, and the median of their
  /// changes.
  std::uint64_t sooner = 0;
  std::uint64_t later = 0;
  duration median_sooner{};
  duration median_later{};
  /// Let in only now, and only then.
  std::uint64_t gained = 0;
  std::uint64_t lost = 0;
  /// Of those that were let in now, how many the log has not seen run to their end: they run for as long as is usual in
  /// their class.
  std::uint64_t estimated = 0;

  /// One sentence for a person.
  [[nodiscard]] std::string explain() const;
};

/// A request with another fate.
struct changed_request {
  /// In order of arrival, from 0.
  std::uint64_t number = 0;
  sluice::workload workload{};
  instant arrived{};
  fate then{};
  fate now{};
};

struct comparison {
  /// The classes of the log's policy, in its order; and all.
  std::vector<class_comparison> classes;
  class_comparison all;
  /// Those with another fate, in order of arrival: how many, and the first of them.
  std::uint64_t changed_total = 0;
  std::vector<changed_request> changed;
  /// Changes of policy in the log, which the other policy replaces for all its time.
  std::uint64_t reconfigurations = 0;

  /// A sentence for each class that had work, a line each.
  [[nodiscard]] std::string explain() const;
};

struct comparison_options {
  /// Waits that differ by no more are the same.
  duration tolerance = std::chrono::milliseconds(10);
  /// How many of those with another fate are listed.
  std::size_t most_listed = 100;
};

/// Puts the work of a log to a machine under `other`, from the log's beginning to its end.
///
/// From the log are taken: when work came, what it asked for and how patient it was; and once it has been let in, for
/// how long it held its place, what it reported and used, and how long it took to stop; runs, pauses and what the
/// provider said. What no log can tell, and is taken to be so: that a provider is as fast with more or less at once;
/// that callers who were refused come again, or not, as they did; that work which the log has not seen run to its end
/// (it was refused, or left) would have run for the median of its class, and used the median.
/// `class_comparison::estimated` counts these.
///
/// Classes are matched by name. The same policy gives the same fates, but for a timer's being late in the log.
///
/// Errors: `errc::invalid_argument` for bytes that are no log, and for a class of the log's that `other` does not have;
/// `errc::invalid_configuration` when `other` does not hold.
/// Complexity: O(log n) an event. Thread safety: any thread.
[[nodiscard]] expected<comparison, error> compare(std::string_view log, const policy& other,
                                                  const comparison_options& options = {});
[[nodiscard]] expected<comparison, error> compare(const recorded_run& then, const policy& other,
                                                  const comparison_options& options = {});

}  // namespace sluice::sim
