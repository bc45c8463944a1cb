/// \file
/// How the queue behaves when there is more work than capacity: `bypass_policy`, `feasibility_policy`,
/// `overload_policy`.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace sluice {

/// A head that waits for room in the pool has the next place; what fits beside it may pass meanwhile, but not for ever.
struct bypass_policy {
  /// How many may pass one head. Zero: nobody.
  std::int64_t passes = 64;
  /// For how long, at most; less when the service model knows how long the head will run, which is then the bound.
  duration patience = std::chrono::seconds(30);
  friend constexpr bool operator==(const bypass_policy&, const bypass_policy&) noexcept = default;
};

/// Work that cannot be done by its deadline is refused when that is known, not after it has waited. What is not known
/// refuses nobody.
struct feasibility_policy {
  bool enabled = true;
  /// How much of the work's expected duration must fit before the deadline: 0 looks at the queue alone, 1 at queue and
  /// expected duration.
  double service_share = 1;
  /// How much optimism there is about the queue: the wait is reckoned as this share of the estimate. In (0, 1].
  double wait_share = 0.8;
  /// No more of a class runs at once than lets its average piece of work be done in this share of the time that it is
  /// given; the rest is for waiting, and for what is longer than average. A provider that shares one machine among all
  /// would otherwise serve everybody too late. Zero: off. Work without deadlines is not concerned.
  double run_share = 0.4;
  friend constexpr bool operator==(const feasibility_policy&, const feasibility_policy&) noexcept = default;
};

/// When not all deadlines can be kept, keeping the earliest first keeps almost none. In sustained overload the cheapest
/// goes first instead, as long as it can still be done in time.
struct overload_policy {
  bool enabled = true;
  /// The share of a class's arrivals, over the window, that were infeasible or expired: overload begins above `enter`
  /// and ends below `leave`.
  double enter = 0.02;
  double leave = 0.005;
  duration window = std::chrono::seconds(10);
  /// Work that has waited this long is served by its place all the same, so that nobody is forgotten.
  duration age_cap = std::chrono::seconds(30);
  friend constexpr bool operator==(const overload_policy&, const overload_policy&) noexcept = default;
};

static_assert(std::is_trivially_destructible_v<overload_policy> && std::is_aggregate_v<overload_policy>);

}  // namespace sluice
