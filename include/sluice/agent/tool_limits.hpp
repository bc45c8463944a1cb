/// \file
/// `tool_limits`: how often, how long and for whom one tool may run.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace sluice::agent {

/// Numbers alone.
struct tool_limits {
  /// Calls that run at once, over all runs that use the toolbox; the others wait, in order of class and deadline. One
  /// that would wait for ever, since all places are held by calls that wait for it, is refused. So is one when all are
  /// held by abandoned handlers (`toolbox::all`), which keep theirs until they end; those that wait then are, too.
  std::int64_t concurrency = unlimited;
  /// A call that has run for so long is cancelled, and the model is told. Waiting does not count. Zero: the run's
  /// deadline alone.
  duration timeout = std::chrono::seconds(60);
  /// Calls in the tree of one root run; all count whose arguments are of the schema.
  std::int64_t calls_per_run = unlimited;
  /// The class of what it asks models for; else the run's.
  std::optional<sluice::workload> workload{};
  /// Each call waits for `tool_hooks::approve`; without one it is refused.
  bool needs_approval = false;
  /// What a call spends of the run's money, beside one tool call.
  std::int64_t money = 0;
  /// Arguments longer than this are told to the model as too long, unread.
  std::size_t max_arguments = std::size_t{1} << 20U;
  /// A result longer than this is cut, at a whole character, and says so.
  std::size_t max_result = std::size_t{256} << 10U;
};
static_assert(std::is_trivially_destructible_v<tool_limits> && std::is_aggregate_v<tool_limits>);

}  // namespace sluice::agent
