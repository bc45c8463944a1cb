#include "experiment.hpp"
#include "load.hpp"
#include "traces.hpp"

#include <sluice/sim/arms.hpp>
#include <sluice/sim/decision_log.hpp>
#include <sluice/sim/request_source.hpp>
#include <sluice/sim/trial.hpp>

#include <chrono>
#include <cstdio>

#include <sys/resource.h>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;

constexpr std::uint64_t many = 1'000'000;
constexpr std::uint64_t few = 100'000;
constexpr double load = 0.9;

double peak_megabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

struct timed {
  std::uint64_t events = 0;
  std::uint64_t succeeded = 0;
  double wall = 0;
};

timed go(const settings& asked, const std::vector<sim::trace_request>& trace, std::uint64_t count,
         sim::decision_log* log) {
  sim::trial_rules rules;
  rules.provider = at_load(trace, {}, load);
  rules.callers.done_within[sluice::interactive.index()] = 30s;
  rules.callers.done_within[sluice::batch.index()] = 240s;
  sim::trace_source source(trace, count, span_of(trace) + 1s);
  const auto arm = sim::make_policy_arm("sluice", asked.policy);
  timed out;
  const auto begin = std::chrono::steady_clock::now();
  const auto whole = sim::run_trial(
      source, *arm, rules,
      [&out](const sim::visit& over) {
        if (over.succeeded) ++out.succeeded;
      },
      log);
  out.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out.events = whole.events;
  return out;
}

result run(const settings& asked) {
  result out;
  asked.progress("speed", 0);
  const auto trace = azure_trace(asked, asked.seeds.front(), out.notes);
  go(asked, trace, few, nullptr);
  const double before = peak_megabytes();
  asked.progress("speed", 0.1);
  const auto alone = go(asked, trace, many, nullptr);
  const double grown = peak_megabytes() - before;
  sim::decision_log digests[2]{sim::decision_log(false), sim::decision_log(false)};
  sim::decision_log texts[2];
  for (int i = 0; i < 2; ++i) {
    asked.progress("speed", 0.4 + 0.3 * i);
    go(asked, trace, many, &digests[i]);
    go(asked, trace, few, &texts[i]);
  }
  asked.progress("speed", 1);

  const auto number = [](double value) {
    char text[48];
    std::snprintf(text, sizeof text, "%.0f", value);
    return std::string(text);
  };
  table figures{"A million requests of the mix of E7 at load 0.9, through the policy and the provider",
                {"requests/s of wall time", "events/s", "succeeded", "decisions logged", "memory grown, MB"},
                {}};
  figures.rows.push_back({number(static_cast<double>(many) / alone.wall),
                          number(static_cast<double>(alone.events) / alone.wall), std::to_string(alone.succeeded),
                          std::to_string(digests[0].lines()), number(grown)});
  out.tables.push_back(std::move(figures));
  out.bars.push_back(at_most("a million requests", alone.wall, 5, "s"));
  out.bars.push_back(at_most("memory grown from 100,000 requests to a million", grown, 4, "MB"));
  const bool same = texts[0].text() == texts[1].text() && !texts[0].text().empty() &&
                    digests[0].digest() == digests[1].digest() && digests[0].lines() == digests[1].lines();
  out.bars.push_back(at_least("decision logs of two runs are the same, byte for byte", same ? 1 : 0, 1, ""));
  return out;
}

}  // namespace

experiment make_speed() { return {"speed", "how fast the simulator is, and whether it does the same twice", run}; }

}  // namespace sluice_sim
