/// \file
/// `group_options`: when a group of tasks is done, and what becomes of the others then.
#pragma once

#include <sluice/core/time.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sluice::agent {

/// When a group is done before all of its tasks are.
enum class group_rule : std::uint8_t {
  /// Never: it waits for all, and keeps every result and every error.
  collect,
  /// When one has failed: the others are cancelled, and its error is the group's.
  fail_fast,
  /// When `quorum` have succeeded: the others are cancelled. Also as soon as so many cannot succeed any more: then it has failed.
  quorum,
};

/// Numbers alone.
struct group_options {
  group_rule rule = group_rule::collect;
  /// Of `group_rule::quorum`: how many successes are enough.
  std::size_t quorum = 1;
  /// How many of its tasks run at once; the others wait for their turn in the order in which they were started. At least 1.
  std::size_t width = 8;
  /// How long a group that is done waits for those that it has cancelled.
  duration grace = std::chrono::seconds(5);
};
static_assert(std::is_trivially_destructible_v<group_options> && std::is_aggregate_v<group_options>);

/// What has become of the tasks of a group.
struct group_counts {
  std::size_t succeeded = 0;
  std::size_t failed = 0;
  /// Cancelled, or never begun, because the group was done, its caller was cancelled, or a later task took the place.
  std::size_t cancelled = 0;
  /// Of the cancelled, those that had not stopped within the grace. What they give is dropped.
  std::size_t abandoned = 0;
};

}  // namespace sluice::agent
