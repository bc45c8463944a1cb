/// \file
/// `core::request`: what arrives at the admission state machine, and `age`, which keeps a place in the queue.
#pragma once

#include <sluice/core/attempt.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/model.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <cstdint>
#include <type_traits>

namespace sluice {

/// When a piece of work first came, so that it can come again without losing its place: after a preemption it is
/// queued with the age it had. Empty for new work.
struct age {
  /// When it first arrived.
  instant arrived{};
  /// Its number in the order of arrival; zero for new work.
  std::uint64_t sequence = 0;
  /// How often it has been preempted.
  std::uint8_t preemptions = 0;
  friend constexpr bool operator==(const age&, const age&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<age>);

}  // namespace sluice

namespace sluice::core {

/// Names one request from its arrival to its end. Never reused: a request that has ended is known no longer.
struct request_id {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  friend constexpr bool operator==(request_id, request_id) noexcept = default;
};

/// One piece of work at the door.
struct request {
  sluice::cost cost{};
  sluice::workload workload{};
  /// Whether it may wait; if not, no room now means `no_room`.
  bool may_wait = true;
  /// Which try it is. Work that was preempted, as its age says, comes again as a `first`.
  attempt kind = attempt::first;
  /// By when it must have started at the latest, or be told that it will not; when the service model knows how long it
  /// takes, by when it is to have ended: `never` for none.
  instant deadline = never;
  /// On whose behalf.
  sluice::tenant tenant{};
  /// The run that pays, if any, and in whose turn it comes.
  sluice::run_id run{};
  /// Whether it may spend the root's finalise reserve.
  bool finalising = false;
  /// Where it goes.
  sluice::model model{};
  /// Given back with each effect that concerns this request; the core does not look at it.
  std::uint64_t tag = 0;
  /// The age it keeps, if it has been here before.
  sluice::age age{};
};

}  // namespace sluice::core
