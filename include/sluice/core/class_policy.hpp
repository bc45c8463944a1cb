/// \file
/// `class_policy`: what one class of work deserves.
#pragma once

#include <sluice/core/adaptive.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace sluice {

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
  /// How soon after its arrival work of this class is to begin to answer; zero: not said. Work that has waited longer
  /// has missed it already, and lets those of its tenant pass that can still keep it, until `overload_policy::age_cap`:
  /// in overload a few are late, instead of all.
  duration start_within{};
  /// A ceiling on slots that falls while more urgent work suffers.
  elastic_policy elastic{};
  /// The most tokens that one request of this class is expected to ask for; zero: not said. A floor or a ceiling that
  /// could not fund it is refused when the policy is checked.
  std::int64_t largest_request = 0;
  /// The most that may wait in this class.
  std::size_t max_waiting = std::numeric_limits<std::size_t>::max();
  friend bool operator==(const class_policy&, const class_policy&) = default;
};

}  // namespace sluice
