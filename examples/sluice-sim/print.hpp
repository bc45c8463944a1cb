/// \file
/// A result on the terminal: tables, notes, and a line per bar.
#pragma once

#include "experiment.hpp"

#include <ostream>

namespace sluice_sim {

void print(std::ostream& to, const experiment& which, const result& what);

/// Whether every bar was reached.
[[nodiscard]] bool all_reached(const result& what);

}  // namespace sluice_sim
