/// \file
/// `bounded_duration`: reckoned nanoseconds as a duration.
#pragma once

#include <sluice/core/time.hpp>

#include <cstdint>

namespace sluice::core {

/// The whole part of `nanoseconds`, held within zero and `duration::max()`.
[[nodiscard]] constexpr duration bounded_duration(double nanoseconds) noexcept {
  if (!(nanoseconds > 0)) return duration::zero();
  return nanoseconds < 0x1p63 ? duration(static_cast<std::int64_t>(nanoseconds)) : duration::max();
}

}  // namespace sluice::core
