#include "arms.hpp"
#include "experiment.hpp"
#include "traces.hpp"
#include "trial_plots.hpp"

#include <sluice/sim/arms.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;
using sluice::batch;
using sluice::interactive;

constexpr sluice::duration watched = 30s;
constexpr sluice::instant last_arrivals = sluice::instant{} + 45s;

// What a public benchmark of admission control published for the arm, run in real time on four processes.
struct published {
  double interactive_success;
  double latency_p95;
  double batch_success;
};

struct arm_of_e1 {
  contender who;
  std::optional<published> reference;
};

std::vector<arm_of_e1> arms_of(const settings& asked) {
  const auto queue = [](std::string name, sim::queue_rules rules) {
    return contender{name, [name, rules] { return sim::make_queue_arm(name, rules); }, {}};
  };
  const auto rules = asked.policy;
  const auto policy_arm = [rules](const std::string& name) {
    return contender{name, [name, rules] { return sim::make_policy_arm(name, rules); }, {}};
  };
  sim::queue_rules two_at_most;
  two_at_most.first = sim::queue_rules::order::workload;
  two_at_most.batch_at_most = 2;
  sim::queue_rules strict = two_at_most;
  strict.batch_at_most = strict.slots;

  std::vector<arm_of_e1> arms;
  arms.push_back({{"none", [] { return sim::make_open_arm(); }, {}}, published{0.644, 15.4, 0.487}});
  arms.push_back({{"static cap", [] { return sim::make_static_cap_arm({}); }, {}}, published{0.899, 13.2, 0.183}});
  arms.push_back({{"fail-fast",
                   [] {
                     return sim::make_fail_fast_arm({32, 40'000});
                   },
                   {}},
                  published{0.951, 10.4, 0.053}});
  arms.push_back({queue("two-at-most", two_at_most), std::nullopt});
  arms.push_back({queue("strict priority", strict), std::nullopt});
  arms.push_back({policy_arm("sluice"), std::nullopt});
  arms.back().who.callers.done_within[interactive.index()] = 30s;
  arms.back().who.callers.done_within[batch.index()] = 240s;
  arms.push_back({policy_arm("sluice, impatient"), std::nullopt});
  arms.back().who.callers.patience_of_retries = true;
  return arms;
}

// The figures of one arm, seed by seed.
struct figures {
  std::vector<sim::summary> interactive_whole;
  std::vector<sim::summary> interactive_watched;
  std::vector<sim::summary> interactive_loaded;
  std::vector<sim::summary> batch_whole;
  std::vector<double> ends;

  void add(const outcome_of_trial& what) {
    interactive_whole.push_back(sim::summarise(what.visits, interactive));
    const auto end = what.whole.end;
    interactive_watched.push_back(sim::summarise(what.visits, interactive, end - watched, end));
    interactive_loaded.push_back(sim::summarise(what.visits, interactive, last_arrivals - watched, last_arrivals));
    batch_whole.push_back(sim::summarise(what.visits, batch));
    ends.push_back(std::chrono::duration<double>(what.whole.end.time_since_epoch()).count());
  }
};

double rejections(const figures& of, std::size_t seed) {
  return static_cast<double>(of.interactive_whole[seed].rejections + of.batch_whole[seed].rejections);
}

sim::spread per_seed(const figures& of, double (*figure)(const figures&, std::size_t)) {
  std::vector<double> values;
  for (std::size_t i = 0; i < of.ends.size(); ++i) values.push_back(figure(of, i));
  return sim::spread_of(std::move(values));
}

std::vector<std::string> success_row(const std::string& name, const figures& of) {
  const auto refusals = [](const figures& all, std::size_t i) {
    return static_cast<double>(all.interactive_whole[i].refusals + all.batch_whole[i].refusals);
  };
  const auto wasted = [](const figures& all, std::size_t i) {
    return static_cast<double>(all.interactive_whole[i].wasted_tokens + all.batch_whole[i].wasted_tokens);
  };
  return {name,
          percent(over(of.interactive_whole, [](const auto& s) { return s.success; })),
          percent(over(of.interactive_whole, [](const auto& s) { return s.prompt; })),
          percent(over(of.interactive_whole, [](const auto& s) { return s.good; })),
          percent(over(of.batch_whole, [](const auto& s) { return s.success; })),
          seconds(over(of.batch_whole, [](const auto& s) { return s.latency_p95; })),
          count(per_seed(of, rejections)),
          count(per_seed(of, refusals)),
          count(per_seed(of, wasted)),
          seconds(sim::spread_of(of.ends))};
}

std::vector<std::string> time_row(const std::string& name, const std::vector<sim::summary>& of) {
  return {name, seconds(over(of, [](const auto& s) { return s.latency_p50; })),
          seconds(over(of, [](const auto& s) { return s.latency_p95; })),
          seconds(over(of, [](const auto& s) { return s.first_token_p50; })),
          seconds(over(of, [](const auto& s) { return s.first_token_p95; }))};
}

void add_bars(std::vector<bar>& to, const std::string& name, const published& reference, const figures& of) {
  const double success = over(of.interactive_whole, [](const auto& s) { return s.success; }).median;
  const double p95 = over(of.interactive_watched, [](const auto& s) { return s.latency_p95; }).median;
  const double batches = over(of.batch_whole, [](const auto& s) { return s.success; }).median;
  to.push_back(
      near_to(name + " as published: interactive success", 100 * success, 100 * reference.interactive_success, 5, "%"));
  to.push_back(near_to(name + " as published: interactive p95", p95, reference.latency_p95, 3, "s"));
  to.push_back(near_to(name + " as published: batch success", 100 * batches, 100 * reference.batch_success, 5, "%"));
}

void add_own_bars(std::vector<bar>& to, const figures& of) {
  const auto figure = [&of](double sim::summary::*which) {
    return over(of.interactive_whole, [which](const auto& s) { return s.*which; }).median;
  };
  to.push_back(at_least("sluice: interactive success", 100 * figure(&sim::summary::success), 99.5, "%"));
  to.push_back(at_most("sluice: interactive p95", figure(&sim::summary::latency_p95), 11.0, "s"));
  to.push_back(at_most("sluice: interactive first token p95", figure(&sim::summary::first_token_p95), 3.4, "s"));
  to.push_back(
      at_least("sluice: interactive with a first token within 5 s", 100 * figure(&sim::summary::prompt), 98.5, "%"));
  to.push_back(at_least("sluice: batch success",
                        100 * over(of.batch_whole, [](const auto& s) { return s.success; }).median, 95, "%"));
  to.push_back(at_most("sluice: 429s on any seed", per_seed(of, rejections).most, 0, ""));
}

result run(const settings& asked) {
  result out;
  const auto arms = arms_of(asked);
  std::vector<figures> all(arms.size());
  std::vector<std::vector<sim::visit>> visits(arms.size());
  std::vector<series> levels;
  double done = 0;
  for (const std::uint64_t seed : asked.seeds) {
    const auto trace = replay_trace(asked, seed, out.notes);
    for (std::size_t i = 0; i < arms.size(); ++i) {
      asked.progress("E1, seed " + std::to_string(seed), done);
      sim::trial_rules rules;
      const bool drawn = seed == asked.seeds.front();
      if (drawn) rules.sample_every = 200ms;
      const auto what = try_out(arms[i].who, trace, rules);
      all[i].add(what);
      if (drawn) add_levels(levels, arms[i].who.name, what);
      visits[i].insert(visits[i].end(), what.visits.begin(), what.visits.end());
      done += 1 / static_cast<double>(arms.size() * asked.seeds.size());
    }
  }
  asked.progress("E1", 1);
  for (std::size_t i = 0; i < arms.size(); ++i) add_times(out.plots, arms[i].who.name, std::move(visits[i]));
  std::move(levels.begin(), levels.end(), std::back_inserter(out.plots));

  const bool as_published = are_published(asked, out.notes);
  table success{"All requests: medians over seeds (least-most)",
                {"arm", "interactive ok %", "token < 5 s %", "and end < 30 s %", "batch ok %", "batch p95 s", "429s",
                 "refused", "tokens wasted", "all over at s"},
                {}};
  table whole{"Interactive successes of the whole run", {"arm", "p50 s", "p95 s", "first token p50 s", "p95 s"}, {}};
  table loaded{"Interactive successes that ended in the last 30 s of the arrivals", whole.columns, {}};
  table last{"Interactive successes that ended in the last 30 s of the run, as published", whole.columns, {}};
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto& name = arms[i].who.name;
    success.rows.push_back(success_row(name, all[i]));
    whole.rows.push_back(time_row(name, all[i].interactive_whole));
    loaded.rows.push_back(time_row(name, all[i].interactive_loaded));
    last.rows.push_back(time_row(name, all[i].interactive_watched));
    if (arms[i].reference && as_published) add_bars(out.bars, name, *arms[i].reference, all[i]);
    if (name == "sluice") add_own_bars(out.bars, all[i]);
  }
  out.notes.push_back(
      "plots by arrival are of all seeds together, those of what is held, waits and is decided of seed " +
      std::to_string(asked.seeds.front()));
  out.tables = {std::move(success), std::move(whole), std::move(loaded), std::move(last)};
  return out;
}

}  // namespace

experiment make_e1() { return {"E1", "replay of a public benchmark: sluice beside what others do", run}; }

}  // namespace sluice_sim
