/// \file
/// The arms that experiments put side by side, and how one of them is run over a trace.
#pragma once

#include <sluice/sim/arm.hpp>
#include <sluice/sim/summary.hpp>
#include <sluice/sim/trial.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice_sim {

/// One arm of an experiment, and how its callers behave.
struct contender {
  std::string name;
  std::function<std::unique_ptr<sluice::sim::arm>()> make;
  sluice::sim::caller_rules callers{};
};

/// A trial with all that its requests lived through, and the text of its decision log if it was sampled.
struct outcome_of_trial {
  std::vector<sluice::sim::visit> visits;
  sluice::sim::trial_result whole;
  std::string log;
};
[[nodiscard]] outcome_of_trial try_out(const contender& who, const std::vector<sluice::sim::trace_request>& trace,
                                       sluice::sim::trial_rules rules);

/// A row of a figure over seeds: `95.1 % (93.0-96.2)` and the like.
[[nodiscard]] std::string percent(const sluice::sim::spread& over_seeds);
[[nodiscard]] std::string seconds(const sluice::sim::spread& over_seeds);
[[nodiscard]] std::string count(const sluice::sim::spread& over_seeds);

/// A figure of a set of summaries.
[[nodiscard]] sluice::sim::spread over(const std::vector<sluice::sim::summary>& seeds,
                                       const std::function<double(const sluice::sim::summary&)>& figure);

}  // namespace sluice_sim
