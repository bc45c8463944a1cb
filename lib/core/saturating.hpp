/// \file
/// Counters that stop at their greatest value instead of wrapping.
#pragma once

#include <cstdint>
#include <limits>

namespace sluice::core {

/// `counter += more`, for `more >= 0`.
inline void add(std::int64_t& counter, std::int64_t more) noexcept {
  if (__builtin_add_overflow(counter, more, &counter)) counter = std::numeric_limits<std::int64_t>::max();
}

}  // namespace sluice::core
