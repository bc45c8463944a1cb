#include "arms.hpp"

#include <sluice/sim/request_source.hpp>

#include <algorithm>
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

double in_seconds(sluice::instant when) { return std::chrono::duration<double>(when.time_since_epoch()).count(); }

}  // namespace

outcome_of_trial try_out(const contender& who, const std::vector<sim::trace_request>& trace, sim::trial_rules rules) {
  rules.callers = who.callers;
  outcome_of_trial out;
  out.visits.reserve(trace.size());
  sim::trace_source source(trace);
  const auto arm = who.make();
  out.whole = sim::run_trial(source, *arm, rules, [&out](const sim::visit& over) { out.visits.push_back(over); });
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

void add_plots(std::vector<series>& to, const std::string& arm, const outcome_of_trial& what) {
  const struct {
    const char* name;
    sluice::workload of;
  } classes[] = {{"interactive", sluice::interactive}, {"batch", sluice::batch}};
  const auto levels = [&](const std::string& plot, const std::string& name, const char* unit, sluice::workload of,
                          std::int64_t sim::arm_levels::level::*which) {
    series line{arm + ": " + plot, name, "s", unit, {}};
    for (const auto& sample : what.whole.samples) {
      line.points.emplace_back(in_seconds(sample.at), sample.arm.classes[of.index()].*which);
    }
    to.push_back(std::move(line));
  };
  for (const auto& each : classes) {
    levels("slots held", each.name, "slots", each.of, &sim::arm_levels::level::held);
    levels("slots held", std::string(each.name) + ", borrowed", "slots", each.of, &sim::arm_levels::level::borrowed);
  }
  for (const auto& each : classes) {
    levels("waiting", each.name, "requests", each.of, &sim::arm_levels::level::waiting);
  }
  std::vector<sim::visit> visits = what.visits;
  std::sort(visits.begin(), visits.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  for (const auto& each : classes) {
    series latency{arm + ": latency by arrival", each.name, "s", "s", {}};
    for (const auto& over : visits) {
      if (over.workload != each.of || !over.succeeded) continue;
      latency.points.emplace_back(in_seconds(over.arrival), in_seconds(over.end) - in_seconds(over.arrival));
    }
    to.push_back(std::move(latency));
  }
}

}  // namespace sluice_sim
