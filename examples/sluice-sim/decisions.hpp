/// \file
/// What was decided in a trial, counted over time, for a plot.
#pragma once

#include "experiment.hpp"

#include <sluice/core/time.hpp>
#include <sluice/sim/visit.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sluice_sim {

/// Counts for each `bucket` of time: upwards what started at once, after waiting and when it came again, downwards what
/// was refused by reason, answered with 429, preempted and left by its caller. `log` is the text of the trial's
/// `decision_log`, `visits` are its requests in order of arrival. Kinds that never happened have no series.
[[nodiscard]] std::vector<series> decisions(std::string_view log, const std::vector<sluice::sim::visit>& visits,
                                            sluice::duration bucket);

}  // namespace sluice_sim
