#include "trial_plots.hpp"

#include "decisions.hpp"
#include "markup.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace sluice_sim {
namespace {

namespace sim = sluice::sim;
using level = sim::arm_levels::level;

// A sample is what holds at an instant; decisions are counted over so many of them.
constexpr int samples_of_a_bar = 5;

struct named_class {
  const char* name;
  sluice::workload of;
};
constexpr named_class classes[]{{"interactive", sluice::interactive}, {"batch", sluice::batch}};

double in_seconds(sluice::instant when) { return std::chrono::duration<double>(when.time_since_epoch()).count(); }
double in_seconds(sluice::duration length) { return std::chrono::duration<double>(length).count(); }

template <typename Value>
void add_samples(std::vector<series>& to, series line, const outcome_of_trial& what, Value value) {
  for (const auto& sample : what.whole.samples) {
    line.points.emplace_back(in_seconds(sample.at), static_cast<double>(value(sample)));
  }
  to.push_back(std::move(line));
}

void add_time(std::vector<series>& to, const std::string& panel, const char* plot,
              const std::vector<sim::visit>& visits, sluice::duration (sim::visit::*time)() const noexcept) {
  for (const auto& each : classes) {
    series done{plot, each.name, "s", "s", {}, mark::dots, panel};
    series failed{plot, std::string(each.name) + ", failed", "s", "s", {}, mark::ticks, panel};
    for (const auto& one : visits) {
      if (one.workload != each.of) continue;
      if (one.succeeded) {
        done.points.emplace_back(in_seconds(one.arrival), in_seconds((one.*time)()));
      } else {
        failed.points.emplace_back(in_seconds(one.arrival), 0);
      }
    }
    to.push_back(std::move(done));
    to.push_back(std::move(failed));
  }
}

void add_held(std::vector<series>& to, const std::string& panel, const outcome_of_trial& what) {
  for (const auto& each : classes) {
    const auto at = [of = each.of](const sim::trial_sample& sample) { return sample.arm.classes[of.index()]; };
    add_samples(to, {"Slots held", each.name, "s", "slots", {}, mark::area, panel}, what,
                [at](const auto& sample) { return at(sample).held - at(sample).borrowed; });
    add_samples(to, {"Slots held", std::string(each.name) + ", borrowed", "s", "slots", {}, mark::hatched, panel}, what,
                [at](const auto& sample) { return at(sample).borrowed; });
  }
  // An arm that holds nothing of its own leaves all to the provider.
  const auto holds = [](const sim::trial_sample& sample) {
    return std::any_of(sample.arm.classes.begin(), sample.arm.classes.end(),
                       [](const level& of) { return of.held > 0; });
  };
  if (std::none_of(what.whole.samples.begin(), what.whole.samples.end(), holds)) {
    add_samples(to, {"Slots held", "at the provider, of both", "s", "slots", {}, mark::area, panel}, what,
                [](const auto& sample) { return sample.provider_running; });
  }
}

void add_waiting(std::vector<series>& to, const std::string& panel, const outcome_of_trial& what) {
  for (const auto& each : classes) {
    add_samples(to, {"Waiting", each.name, "s", "requests", {}, mark::area, panel}, what,
                [of = each.of](const auto& sample) { return sample.arm.classes[of.index()].waiting; });
  }
  const auto& samples = what.whole.samples;
  if (std::any_of(samples.begin(), samples.end(), [](const auto& each) { return each.provider_waiting > 0; })) {
    add_samples(to, {"Waiting", "at the provider", "s", "requests", {}, mark::area, panel}, what,
                [](const auto& sample) { return sample.provider_waiting; });
  }
}

void add_decisions(std::vector<series>& to, const std::string& panel, const outcome_of_trial& what,
                   const std::vector<sim::visit>& visits) {
  const auto& samples = what.whole.samples;
  if (samples.size() < 2) return;
  const sluice::duration bucket = samples_of_a_bar * (samples[1].at - samples[0].at);
  for (series& each : decisions(what.log, visits, bucket)) {
    each.plot = "Decisions";
    each.panel = panel;
    each.y_unit = "decisions in " + figure(in_seconds(bucket)) + " s";
    to.push_back(std::move(each));
  }
}

// A limit that is not there has no value.
void add_limit(std::vector<series>& to, series line, const outcome_of_trial& what,
               std::int64_t (*value)(const sim::trial_sample&)) {
  for (const auto& sample : what.whole.samples) {
    const std::int64_t limit = value(sample);
    if (limit != sluice::unlimited) line.points.emplace_back(in_seconds(sample.at), static_cast<double>(limit));
  }
  if (!line.points.empty()) to.push_back(std::move(line));
}

void add_limits(std::vector<series>& to, const std::string& panel, const outcome_of_trial& what) {
  const char* plot = "Limits that move, and what is held";
  std::vector<series> limits;
  add_limit(limits, {plot, "interactive, its ceiling", "s", "slots", {}, mark::limit, panel}, what,
            [](const auto& sample) { return sample.arm.classes[sluice::interactive.index()].limit; });
  add_limit(limits, {plot, "batch, its ceiling", "s", "slots", {}, mark::limit, panel}, what,
            [](const auto& sample) { return sample.arm.classes[sluice::batch.index()].limit; });
  add_limit(limits, {plot, "all, the provider's limit", "s", "slots", {}, mark::limit, panel}, what,
            [](const auto& sample) { return sample.arm.adaptive_limit; });
  if (limits.empty()) return;
  for (const auto& each : classes) {
    add_samples(to, {plot, each.name, "s", "slots", {}, mark::line, panel}, what,
                [of = each.of](const auto& sample) { return sample.arm.classes[of.index()].held; });
  }
  to.insert(to.end(), std::make_move_iterator(limits.begin()), std::make_move_iterator(limits.end()));
}

}  // namespace

void add_times(std::vector<series>& to, const std::string& panel, std::vector<sim::visit> visits) {
  std::stable_sort(visits.begin(), visits.end(), [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
  add_time(to, panel, first_token_plot, visits, &sim::visit::time_to_first_token);
  add_time(to, panel, latency_plot, visits, &sim::visit::latency);
}

void add_levels(std::vector<series>& to, const std::string& panel, const outcome_of_trial& what) {
  std::vector<sim::visit> visits = what.visits;
  std::sort(visits.begin(), visits.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  add_held(to, panel, what);
  add_waiting(to, panel, what);
  add_decisions(to, panel, what, visits);
  add_limits(to, panel, what);
}

}  // namespace sluice_sim
