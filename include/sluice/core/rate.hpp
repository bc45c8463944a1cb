/// \file
/// `rate`, `rate_limits`: how much may be *sent* in a time, beside how much may be in flight. Held exactly, by GCRA.
#pragma once

#include <sluice/core/cost.hpp>

#include <cstdint>
#include <type_traits>

namespace sluice {

/// So much a minute, and so much at once.
struct rate {
  /// `unlimited`: no limit on this axis. Otherwise at least 1.
  std::int64_t per_minute = unlimited;
  /// The most that an idle minute, or an idle month, leaves to be sent at once. Zero: what a minute gives.
  std::int64_t burst = 0;
  friend constexpr bool operator==(const rate&, const rate&) noexcept = default;
};

/// The three rates that providers publish. Work is charged on all of them together when it starts, or on none: one
/// request, its input and its reserved output. What it did not use comes back when it is settled. A cost whose split is
/// not known counts as input.
struct rate_limits {
  rate requests{};
  rate input_tokens{};
  rate output_tokens{};
  friend constexpr bool operator==(const rate_limits&, const rate_limits&) noexcept = default;
};

static_assert(std::is_trivially_destructible_v<rate_limits> && std::is_aggregate_v<rate_limits>);

}  // namespace sluice
