/// \file
/// `grouped`: large numbers as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {

/// 1234567 as 1,234,567.
[[nodiscard]] inline std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t start = digits.front() == '-' ? 1 : 0;
  for (std::size_t place = digits.size(); place > start + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

}  // namespace sluice
