/// \file
/// `policy`: what capacity there is, and which class of work deserves what part of it.
#pragma once

#include <sluice/core/adaptive.hpp>
#include <sluice/core/attempt.hpp>
#include <sluice/core/class_policy.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/model.hpp>
#include <sluice/core/queueing.hpp>
#include <sluice/core/rate.hpp>
#include <sluice/core/reopening.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

/// The whole policy: a plain value. A bulkhead takes a copy, checks it once, and never changes it; a new revision
/// replaces it as a whole (`bulkhead::reconfigure`).
///
/// `interactive` and `batch` are always classes 0 and 1. By default interactive work has priority, a floor of three
/// quarters of the capacity, and is to start within 3.5 s; batch has an eighth (at least one slot, when there is more
/// than one), may be preempted when it has borrowed more, and makes room elastically: it may be kept from starting for
/// up to a minute.
class policy {
 public:
  /// A policy with the default classes over `total`.
  explicit policy(capacity total);

  /// What there is in all. Zero is legal and means closed for now: work waits.
  capacity total;
  /// The class table: at most `max_workloads`, fixed for the life of a bulkhead.
  std::vector<class_policy> classes;
  /// The most that may wait in all classes together. When one more comes, the worst goes: of the lowest class that
  /// waits beyond its floor, the costliest (to within a factor of two in tokens), and among those the youngest.
  std::size_t max_waiting = 10'000;
  /// How often one piece of work may be preempted; after that it runs to its end.
  int max_preemptions = 2;

  /// What the provider lets through in a minute, whoever asks.
  rate_limits rates{};
  /// What tenants may have that are not in `tenants`, each for itself; its name is not used.
  tenant_policy other_tenants{"others"};
  std::vector<tenant_policy> tenants;
  /// How many tenants are known at once. Beyond that the one idle for longest is forgotten; when none is idle,
  /// newcomers share one place among themselves. 1 to 1,000,000.
  std::size_t max_tenants = 1'024;

  bypass_policy bypass{};
  feasibility_policy feasibility{};
  overload_policy overload{};
  /// A limit on slots that follows the provider.
  adaptive_policy adaptive{};
  /// How much may be tried once more.
  retry_budget retries{};
  /// How the gate opens again after a pause.
  reopening_policy reopening{};
  /// What models cost, for runs with a limit on money. A model that is not here is free.
  std::vector<model_price> prices;

  /// Decide and record, but let everything through that is well-formed: for trying a policy in production. What would
  /// have waited or been refused runs at once and holds nothing.
  bool observe = false;
  /// How many explain records are kept (`admission::recent`): of waits, rejections and preemptions. Rounded up to a
  /// power of two.
  std::size_t explain_records = 256;
  /// The number of this version. A replacement must have a greater one.
  std::uint64_t revision = 1;

  /// Adds a class and names it. Throws `error_exception` when the table is full.
  workload add_class(class_policy added);

  /// The class of that name, if there is one. Linear in classes.
  [[nodiscard]] expected<workload, error> find(std::string_view name) const;

  /// The class's settings. Precondition: the class is in the table.
  [[nodiscard]] class_policy& operator[](workload which) { return classes.at(which.index()); }
  [[nodiscard]] const class_policy& operator[](workload which) const { return classes.at(which.index()); }
  friend bool operator==(const policy&, const policy&) = default;
};

/// Checks that a policy makes sense: every number in its range; at most `max_workloads` classes, class 0 `interactive`
/// and class 1 `batch`; names of classes, tenants and prices unique; at least one token for each slot; floors within
/// ceilings, and all floors together within the capacity; each floor with slots and with tokens or with neither (an
/// axis of the pool that is `unlimited`, or zero for now, needs no floor), and where `largest_request` is said, floor,
/// ceiling and capacity that fund it.
/// Errors: `errc::invalid_configuration`, naming the field, the numbers and what to change.
[[nodiscard]] expected<void, error> validate(const policy& checked);

}  // namespace sluice
