/// \file
/// `statistics`: the accounts of a bulkhead at one instant, per class and in all.
#pragma once

#include <sluice/core/adaptive.hpp>
#include <sluice/core/attempt.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice {

/// The accounts of one class, or of all together. Those named `*_total` only grow.
struct class_statistics {
  /// Permits held now, and what they hold.
  std::int64_t in_flight = 0;
  capacity held{};
  /// What is held beyond the floor now.
  capacity borrowed{};
  /// Requests waiting now, and what they ask for (held at the greatest number when it would not fit).
  std::int64_t waiting = 0;
  capacity queued{};

  std::int64_t admitted_total = 0;
  /// Of those, how many had waited.
  std::int64_t admitted_after_wait_total = 0;
  std::int64_t rejected_total = 0;
  /// Of those, how many because their deadline passed in the queue, and how many were shed.
  std::int64_t expired_total = 0;
  std::int64_t shed_total = 0;
  std::int64_t cancelled_total = 0;
  std::int64_t preempted_total = 0;
  /// Turned away because they could not be done in time, because their run could not pay, or because too much was being
  /// tried again.
  std::int64_t infeasible_total = 0;
  std::int64_t unaffordable_total = 0;
  std::int64_t retries_refused_total = 0;
  /// Let through by a policy that only observes, although there was no room.
  std::int64_t observed_total = 0;
  /// Tokens: reserved = consumed + refunded - overrun, once all is settled.
  std::int64_t reserved_tokens_total = 0;
  std::int64_t consumed_tokens_total = 0;
  std::int64_t refunded_tokens_total = 0;
  std::int64_t overrun_tokens_total = 0;
  /// Tokens consumed by work that was preempted.
  std::int64_t wasted_tokens_total = 0;

  /// The class's moving ceiling now; `unlimited` when it has none.
  std::int64_t elastic_limit = unlimited;
  /// Whether the class is in overload: the cheapest feasible first.
  bool overloaded = false;

  friend bool operator==(const class_statistics&, const class_statistics&) noexcept = default;
};

/// All accounts. `classes` has an entry for each class of the policy, in its order.
struct statistics {
  std::uint64_t revision = 0;
  capacity total{};
  std::size_t class_count = 0;
  /// The limit on slots that follows the provider; `unlimited` when it is off.
  std::int64_t adaptive_limit = unlimited;
  /// Why it changed last.
  limit_change adaptive_reason = limit_change::none;
  /// What has started, by which try it was: at the place of each `attempt`.
  std::array<std::int64_t, attempt_count> attempts_total{};
  /// Tenants and runs that are known now.
  std::size_t tenants = 0;
  std::size_t runs = 0;
  class_statistics all{};
  std::array<class_statistics, max_workloads> classes{};

  /// The accounts of one class. Throws `std::out_of_range` beyond `max_workloads`.
  [[nodiscard]] const class_statistics& operator[](workload which) const& { return classes.at(which.index()); }
  /// The same by value, so that `gate.statistics()[batch]` may be kept.
  [[nodiscard]] class_statistics operator[](workload which) && { return classes.at(which.index()); }
};

}  // namespace sluice
