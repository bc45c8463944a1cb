/// \file
/// The instants that sluice reckons with: monotonic, in nanoseconds, never the wall clock.
#pragma once

#include <chrono>

namespace sluice {

/// A length of time, in nanoseconds.
using duration = std::chrono::nanoseconds;

/// A monotonic instant. In production it is the steady clock's; under virtual time it counts from zero. The core
/// only compares instants, and reads no clock.
using instant = std::chrono::time_point<std::chrono::steady_clock, duration>;

/// "No deadline": later than any instant.
inline constexpr instant never = instant::max();

/// `from + length`, held at `never` instead of wrapping. A negative `length` counts as zero.
[[nodiscard]] constexpr instant after(instant from, duration length) noexcept {
  if (length <= duration::zero()) return from;
  return from >= instant{} && length >= never - from ? never : from + length;
}

}  // namespace sluice
