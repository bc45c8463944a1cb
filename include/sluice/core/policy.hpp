/// \file
/// `policy`: what capacity there is, and which class of work deserves what part of it.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// For a capacity, a ceiling or a queue that has no limit.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// One class of work. A plain value with a constructor; change its members freely before it is used.
class class_policy {
 public:
  explicit class_policy(std::string class_name) : name(std::move(class_name)) {}

  /// Unique; 1 to 64 bytes without control characters, since it stands in metrics and messages.
  std::string name;
  /// The greater is served first. Equal priorities are served in the order of the class table.
  int priority = 0;
  /// Capacity protected for this class. While it is idle it is lent to others; when this class queues work, nobody
  /// else gets the next free unit until the floor is whole.
  capacity floor{};
  /// The most that the class may hold. `unlimited`: the pool is the limit. Zero slots: the class is closed.
  capacity ceiling{unlimited, unlimited};
  /// Whether running work of this class may be interrupted to restore the floor of a class of higher priority. Only
  /// work that has borrowed is, and only what runs under `permit::guard`.
  bool preemptible = false;
  /// The longest that work of this class, within its floor, waits for lent capacity before borrowers are preempted;
  /// half of the work's own time to its deadline if that is less.
  duration restore_within = std::chrono::seconds(2);
  /// The most that may wait in this class.
  std::size_t max_waiting = std::numeric_limits<std::size_t>::max();
};

/// The whole policy: a plain value. A bulkhead takes a copy, checks it once, and never changes it; a new revision
/// replaces it as a whole (`bulkhead::reconfigure`).
///
/// `interactive` and `batch` are always classes 0 and 1. By default interactive work has priority and a floor of three
/// quarters of the capacity; batch has an eighth (at least one slot, when there is more than one), and may be preempted
/// when it has borrowed more.
class policy {
 public:
  /// A policy with the default classes over `total`.
  explicit policy(capacity total);

  /// What there is in all. Zero is legal and means closed for now: work waits.
  capacity total;
  /// The class table: at most `max_workloads`, fixed for the life of a bulkhead.
  std::vector<class_policy> classes;
  /// The most that may wait in all classes together. When one more comes, the worst goes: of the lowest class that waits
  /// beyond its floor, the costliest (to within a factor of two in tokens), and among those the youngest.
  std::size_t max_waiting = 10'000;
  /// How often one piece of work may be preempted; after that it runs to its end.
  int max_preemptions = 2;
  /// The number of this version. A replacement must have a greater one.
  std::uint64_t revision = 1;

  /// Adds a class and names it. Throws `error_exception` when the table is full.
  workload add_class(class_policy added);

  /// The class of that name, if there is one. Linear in classes.
  [[nodiscard]] expected<workload, error> find(std::string_view name) const;

  /// The class's settings. Precondition: the class is in the table.
  [[nodiscard]] class_policy& operator[](workload which) { return classes.at(which.index()); }
  [[nodiscard]] const class_policy& operator[](workload which) const { return classes.at(which.index()); }
};

/// Checks that a policy makes sense: no negative number, at most `max_workloads` classes with unique names, class 0
/// `interactive` and class 1 `batch`, floors within ceilings, and all floors together within the capacity.
/// Errors: `errc::invalid_configuration`, naming the field and both numbers.
[[nodiscard]] expected<void, error> validate(const policy& checked);

}  // namespace sluice
