/// \file
/// Figures as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace contention {

/// `12,345`
[[nodiscard]] std::string with_commas(std::int64_t value);
/// `0.47 s`
[[nodiscard]] std::string in_seconds(double value);
/// `98.1 %`
[[nodiscard]] std::string in_percent(double share);
/// `1.4`
[[nodiscard]] std::string one_digit(double value);

}  // namespace contention
