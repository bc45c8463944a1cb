#include "arms.hpp"

#include <sluice/sim/request_source.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>

namespace sluice_sim {
namespace {

namespace sim = sluice::sim;

std::string text(const char* format, double value) {
  char written[48];
  std::snprintf(written, sizeof written, format, value);
  return written;
}

std::string with_range(const char* format, const sim::spread& figure, double factor) {
  if (std::isnan(figure.median)) return "-";
  const std::string middle = text(format, figure.median * factor);
  if (figure.least == figure.most) return middle;
  return middle + " (" + text(format, figure.least * factor) + "-" + text(format, figure.most * factor) + ")";
}

}  // namespace

outcome_of_trial try_out(const contender& who, const std::vector<sim::trace_request>& trace, sim::trial_rules rules) {
  rules.callers = who.callers;
  outcome_of_trial out;
  out.visits.reserve(trace.size());
  sim::trace_source source(trace);
  const auto arm = who.make();
  sim::decision_log log;
  out.whole = sim::run_trial(
      source, *arm, rules, [&out](const sim::visit& over) { out.visits.push_back(over); },
      rules.sample_every > sluice::duration::zero() ? &log : nullptr);
  out.log = log.text();
  return out;
}

std::string percent(const sim::spread& over_seeds) { return with_range("%.1f", over_seeds, 100); }
std::string seconds(const sim::spread& over_seeds) { return with_range("%.2f", over_seeds, 1); }
std::string count(const sim::spread& over_seeds) { return with_range("%.0f", over_seeds, 1); }

sim::spread over(const std::vector<sim::summary>& seeds, const std::function<double(const sim::summary&)>& figure) {
  std::vector<double> values;
  values.reserve(seeds.size());
  for (const auto& each : seeds) values.push_back(figure(each));
  return sim::spread_of(std::move(values));
}

}  // namespace sluice_sim
