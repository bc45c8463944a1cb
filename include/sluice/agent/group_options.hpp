/// \file
/// `group_options`: when a group of tasks is done, and what becomes of the others then.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::agent {

/// When a group is done before all of its tasks are.
enum class group_rule : std::uint8_t {
  /// Never: it waits for all, and keeps every result and every error.
  collect,
  /// When one has failed: the others are cancelled, and its error is the group's.
  fail_fast,
  /// When `quorum` have succeeded: the others are cancelled. Also, once it is waited for, as soon as so many cannot
  /// succeed any more: then it has failed.
  quorum,
};

/// What a group that is done waits for before it gives its result.
enum class group_wait : std::uint8_t {
  /// The tasks that it has cancelled to have stopped, at most for `group_options::grace`. So they may refer to what
  /// lives in the frame that waits, as long as they hear of their cancellation.
  stopped,
  /// Nothing: the result is there at the instant in which the group is done; of `fail_fast`, with the first failure.
  /// The tasks that it has cancelled end behind it, in the run: `run_scope::leave` waits for them, and what they refer
  /// to must outlive that. `collect` decides nothing early: it waits for every task, but not for what tasks have left
  /// behind, nor for those that were replaced (`start_latest`).
  verdict,
};

/// Numbers alone.
struct group_options {
  group_rule rule = group_rule::collect;
  /// Of `group_rule::quorum`: how many successes are enough. Zero: it is done at once.
  std::size_t quorum = 1;
  /// How many of its tasks run at once; the others wait for their turn in the order in which they were started. At
  /// least 1; zero counts as 1. A task that was replaced (`start_latest`) and has not stopped yet does not count, up to
  /// as many again.
  std::size_t width = 8;
  /// How long a group that is done waits for those that it has cancelled (`group_wait::stopped`). Zero or less: not at
  /// all.
  duration grace = std::chrono::seconds(5);
  group_wait wait_for = group_wait::stopped;
};
static_assert(std::is_trivially_destructible_v<group_options> && std::is_aggregate_v<group_options>);

/// What has become of the tasks of a group. The first three make up all that were started.
struct group_counts {
  std::size_t succeeded = 0;
  std::size_t failed = 0;
  /// Cancelled, or never begun, because the group was done, its caller or its run was cancelled, or a later task took
  /// the place.
  std::size_t cancelled = 0;
  /// Of the cancelled, those whose place a later task with their key took. They have no outcome of their own.
  std::size_t replaced = 0;
  /// Of the cancelled, those that had not stopped within the grace. What they give is dropped.
  std::size_t abandoned = 0;
  /// The same of `group_wait::verdict`, for which there is no grace: those that had not stopped yet.
  std::size_t stopping = 0;
  friend constexpr bool operator==(const group_counts&, const group_counts&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<group_counts> && std::is_aggregate_v<group_counts>);

}  // namespace sluice::agent
