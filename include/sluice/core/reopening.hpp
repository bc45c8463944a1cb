/// \file
/// `reopening_policy`: how the gate opens again after a pause.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <type_traits>

namespace sluice {

/// A provider that asked for a pause is not met by everybody at once when it is over: starts are then spaced, for all
/// classes alike.
///
/// After a pause of length `L`, and for `spread = clamp(share * L, least, most)` after its end, starts are at least
/// `max(step, spread / slots)` apart, where `slots` is the pool's. After that they are `step` apart, until nobody is
/// left who waits for nothing else.
struct reopening_policy {
  /// Of the length of the pause, in [0, 1].
  double share = 0.1;
  /// The bounds of what comes of it.
  duration least = std::chrono::milliseconds(250);
  duration most = std::chrono::seconds(60);
  /// The least time between two starts. Zero, with `most` zero: everybody starts at once.
  duration step = std::chrono::milliseconds(2);
  friend constexpr bool operator==(const reopening_policy&, const reopening_policy&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<reopening_policy> && std::is_aggregate_v<reopening_policy>);

}  // namespace sluice
