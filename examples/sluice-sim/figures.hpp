/// \file
/// Numbers of an experiment as they are written in tables.
#pragma once

#include <sluice/core/time.hpp>

#include <string>
#include <vector>

namespace sluice_sim {

/// One number by a format of printf for a double.
[[nodiscard]] std::string text(const char* format, double value);

[[nodiscard]] double in_seconds(sluice::duration length);
/// Since the beginning of virtual time.
[[nodiscard]] double in_seconds(sluice::instant when);

/// The value that `share` (0 to 1) of them do not exceed, by nearest rank: 0 is the least, 1 the greatest. Not a number
/// when there are none.
[[nodiscard]] double percentile(std::vector<double> values, double share);

}  // namespace sluice_sim
