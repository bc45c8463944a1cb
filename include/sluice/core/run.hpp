/// \file
/// Runs and what they may spend: a run is one task of an agent with all that it starts. Spending is not given back;
/// capacity is.
#pragma once

#include <sluice/core/cost.hpp>

#include <cstdint>
#include <type_traits>

namespace sluice {

/// An amount of what runs spend.
struct spending {
  std::int64_t tokens = 0;
  /// Exchanges with a provider, each attempt counted.
  std::int64_t calls = 0;
  /// In a unit of the caller's, for instance millionths of a dollar; prices are the caller's too.
  std::int64_t money = 0;
  friend constexpr bool operator==(const spending&, const spending&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<spending> && std::is_aggregate_v<spending>);

/// The most of it; what is not named has no limit.
struct run_limits {
  std::int64_t tokens = unlimited;
  std::int64_t calls = unlimited;
  std::int64_t money = unlimited;
  friend constexpr bool operator==(const run_limits&, const run_limits&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<run_limits> && std::is_aggregate_v<run_limits>);

/// Names a run. Never reused: one that has ended is known no longer. By default: no run.
struct run_id {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  friend constexpr bool operator==(run_id, run_id) noexcept = default;
};

/// How a child run is paid for.
enum class run_funding : std::uint8_t {
  /// From all of what its parent has, without a limit of its own.
  share,
  /// From what its parent has, but no more than its own limit. The limit is not set aside.
  cap,
  /// Its limit is taken out of its parent's budget when it opens, for it alone; what it did not spend comes back when
  /// it closes.
  carve,
};

/// What a run may spend, and how it hangs together with its parent.
struct run_options {
  /// The run that it is a part of; none for a root.
  run_id parent{};
  run_funding funding = run_funding::share;
  /// The most that it may spend, on each axis; `unlimited` for none. Ignored for `share` below a parent.
  run_limits limit{};
  /// Of the limit, what only requests marked `finalising` may spend: for the last answer of a root run. Roots alone.
  spending finalise_reserve{};
  /// Given back with each effect that concerns this run.
  std::uint64_t tag = 0;
};
static_assert(std::is_trivially_destructible_v<run_options> && std::is_aggregate_v<run_options>);

/// The account of one run, all below it included.
struct run_balance {
  spending limit{};
  /// Really spent by what has ended.
  spending spent{};
  /// Set aside for what waits or runs now, and for carved children.
  spending reserved{};
  /// What could still be reserved now: the least over it and its ancestors, without the finalise reserve.
  spending remaining{};
};

}  // namespace sluice
