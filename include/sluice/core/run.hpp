/// \file
/// Runs and what they may spend: a run is one task of an agent with all that it starts. Spending is not given back;
/// capacity is.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace sluice {

/// An amount of what runs spend.
struct spending {
  std::int64_t tokens = 0;
  /// Exchanges with a provider, each attempt counted.
  std::int64_t calls = 0;
  /// Calls of tools; spent by `charge_run` alone.
  std::int64_t tool_calls = 0;
  /// In a unit of the caller's, for instance millionths of a dollar; prices are the caller's too.
  std::int64_t money = 0;
  friend constexpr bool operator==(const spending&, const spending&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<spending> && std::is_aggregate_v<spending>);

/// The most of it; what is not named has no limit.
struct run_limits {
  std::int64_t tokens = unlimited;
  std::int64_t calls = unlimited;
  std::int64_t tool_calls = unlimited;
  std::int64_t money = unlimited;
  friend constexpr bool operator==(const run_limits&, const run_limits&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<run_limits> && std::is_aggregate_v<run_limits>);

/// One kind of what runs spend; each is named like its member of `spending`.
enum class budget_axis : std::uint8_t { tokens, calls, tool_calls, money };
inline constexpr std::size_t budget_axis_count = 4;
[[nodiscard]] std::string_view to_string(budget_axis value) noexcept;

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
  /// The same, should all that waits or runs now come back unspent: what a request can have that is ready to wait for
  /// it. What is set aside for carved children does not count: it comes back when they are closed.
  spending payable{};
  /// The highest threshold that it has reached and been told of, in percent of a limit of its own: 50, 80, 95 or 100,
  /// and 0 before the first. An extension may lower it.
  std::uint32_t crossed = 0;
};

/// Why nothing was charged. Numbers alone; whoever knows the run's name passes it to `explain`.
struct charge_refusal {
  enum class cause : std::uint8_t {
    /// Some run that pays has not got so much left, whatever becomes of the work under way.
    exhausted,
    /// It could be paid if what is set aside now, for work that waits or runs and for carved runs, were not spent. A
    /// charge does not wait.
    set_aside,
    /// The run that was to be charged is unknown or closed, or below a closed one.
    not_open,
    /// A negative amount was asked.
    negative,
  };
  cause why = cause::exhausted;
  /// The first axis on which it cannot be paid, or on which it was negative.
  budget_axis axis = budget_axis::tokens;
  /// The run that cannot pay: itself or one above it; for `not_open` and `negative`, the run that was to be charged.
  run_id who{};
  /// Of that run: its limit without the finalise reserve; how much of it could be had, never negative; how much more
  /// would have done; what was asked.
  std::int64_t limit = 0;
  std::int64_t available = 0;
  std::int64_t shortfall = 0;
  std::int64_t asked = 0;

  /// `errc::refused`; `errc::invalid_argument` for `not_open` and `negative`.
  [[nodiscard]] errc code() const noexcept;
  /// One sentence with the numbers and the knob; `name` names `who`.
  [[nodiscard]] std::string explain(std::string_view name) const;
  /// The same as an error, with the run as `run 3.1`.
  [[nodiscard]] error to_error() const;
  friend constexpr bool operator==(const charge_refusal&, const charge_refusal&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<charge_refusal> && std::is_aggregate_v<charge_refusal>);

}  // namespace sluice
