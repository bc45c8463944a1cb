/// \file
/// A plot as HTML: a legend, and panels side by side that share their scales.
#pragma once

#include "experiment.hpp"

#include <string>
#include <vector>

namespace sluice_sim {

/// How many colours there are for classes and the like; then they come again.
inline constexpr std::size_t colours = 6;

/// The series with points among `together`, which are of one plot; nothing when there are none. Panels come in the
/// order of their first series.
[[nodiscard]] std::string plot_of(const std::vector<const series*>& together);

/// What all plots of a page refer to: the hatchings.
[[nodiscard]] std::string hatchings();

}  // namespace sluice_sim
