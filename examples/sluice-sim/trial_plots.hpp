/// \file
/// A trial as plots for a report.
#pragma once

#include "arms.hpp"
#include "experiment.hpp"

#include <sluice/sim/visit.hpp>

#include <string>
#include <vector>

namespace sluice_sim {

/// How long each request took, of one trial or of several, as panels named `panel`.
void add_times(std::vector<series>& to, const std::string& panel, std::vector<sluice::sim::visit> visits);

/// What was held, borrowed and waiting per class, what was decided, and the limits that moved, each as a panel named
/// `panel`. The trial must have been sampled; waiting for the provider itself is shown where there was any.
void add_levels(std::vector<series>& to, const std::string& panel, const outcome_of_trial& what);

/// The plot of `add_times` with the time from arrival to the first token, and the one with that to the end.
inline constexpr const char* first_token_plot = "First token, by arrival";
inline constexpr const char* latency_plot = "Whole answer, by arrival";

}  // namespace sluice_sim
