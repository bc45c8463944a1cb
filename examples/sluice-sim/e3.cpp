#include "experiment.hpp"
#include "figures.hpp"
#include "rig.hpp"

#include <sluice/sim/summary.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;
using sluice::batch;
using sluice::duration;
using sluice::instant;
using sluice::interactive;

constexpr std::int64_t nominal = 12;
constexpr std::int64_t published_reach = 16;
constexpr duration abort_takes = 50ms;
constexpr duration restore_within = 2s;
// One token a millisecond, for every request alone: a request is as long as its output.
constexpr double tokens_a_second = 1000;

sluice::policy shared_by_two() {
  sluice::policy rules({2 * nominal, 1'000'000});
  for (const auto which : {interactive, batch}) rules[which].floor = {nominal, 400'000};
  rules[interactive].restore_within = restore_within;
  rules[batch].elastic = {};
  return rules;
}

rig_rules shared_provider(std::uint64_t seed) {
  rig_rules rules;
  rules.policy = shared_by_two();
  rules.provider.slots = 2 * nominal;
  rules.provider.queue = 0;
  rules.provider.sigma = 0;
  rules.provider.latency = duration::zero();
  rules.provider.prompt_rate = 1e9;
  rules.provider.output_rate = tokens_a_second;
  rules.stop_delay = abort_takes;
  rules.seed = seed;
  return rules;
}

errand lasting(duration length, sluice::workload of) {
  errand what;
  what.workload = of;
  what.input_tokens = 1;
  what.output_tokens = what.max_tokens = std::chrono::duration_cast<std::chrono::milliseconds>(length).count();
  return what;
}

/// Asks again as soon as there is an answer, until the end.
void keep_asking(rig& on, const errand& what, instant until, const std::function<void(const record&)>& told) {
  on.send(what, [&on, what, until, told](const record& over) {
    told(over);
    if (on.time().now() < until) keep_asking(on, what, until, told);
  });
}

struct lending {
  double busy_held = 0;
  double other_held = 0;
  double other_longest_wait = 0;
};

// The busy class has everything before the other one comes; what counts is from then on.
lending lend(std::uint64_t seed, std::vector<series>* plots) {
  static constexpr instant other_comes = instant{} + 10s;
  static constexpr instant end = other_comes + 60s;
  rig on(shared_provider(seed));
  sim::random draw(seed);
  const auto phase = [&draw] { return duration(draw.between(0, duration(1s).count() - 1)); };
  lending seen;
  for (int n = 0; n < 24; ++n) {
    on.time().at(instant{} + phase(), [&on] { keep_asking(on, lasting(1s, batch), end, [](const record&) {}); });
  }
  on.on_start = [&seen](const record& started) {
    if (started.what.workload != interactive) return;
    seen.other_longest_wait = std::max(seen.other_longest_wait, in_seconds(started.started - started.arrived));
  };
  const instant together = other_comes + phase();
  for (int n = 0; n < 6; ++n) {
    on.time().at(together, [&on] { keep_asking(on, lasting(1s, interactive), end, [](const record&) {}); });
  }
  series lines[] = {{"E3, lending: slots held", "24 clients", "s", "slots", {}},
                    {"E3, lending: slots held", "6 clients", "s", "slots", {}}};
  std::int64_t samples = 0;
  for (instant when{}; when < end; when += 100ms) {
    on.time().at(when, [&, when] {
      const auto now = on.gate().statistics();
      const auto busy = static_cast<double>(now[batch].held.slots);
      const auto other = static_cast<double>(now[interactive].held.slots);
      lines[0].points.emplace_back(in_seconds(when), busy);
      lines[1].points.emplace_back(in_seconds(when), other);
      // Within one service time of the demand each is to have its place.
      if (when < together + 1s) return;
      ++samples;
      seen.busy_held += busy;
      seen.other_held += other;
    });
  }
  on.time().run();
  seen.busy_held /= static_cast<double>(samples);
  seen.other_held /= static_cast<double>(samples);
  if (plots != nullptr) plots->insert(plots->end(), std::begin(lines), std::end(lines));
  return seen;
}

struct restoration {
  std::vector<double> times;
  std::int64_t stops = 0;
  std::int64_t returns = 0;
};

// The class that lent its floor is away, then wants all of it at once and leaves again: `returns` times, `apart`. Until
// then its slots are held by work of eight seconds, begun within `spread`.
void restore(std::uint64_t seed, int returns, duration apart, duration spread, victim_rule victims, restoration& into,
             std::vector<series>* plots) {
  rig_rules rules = shared_provider(seed);
  rules.victims = victims;
  rig on(std::move(rules));
  sim::random draw(seed);
  const instant end = instant{} + 20s + returns * apart;
  for (int n = 0; n < 24; ++n) {
    const instant begin = instant{} + duration(draw.between(0, spread.count()));
    on.time().at(begin, [&on, &into, end] {
      keep_asking(on, lasting(8s, batch), end, [&into](const record& over) { into.stops += over.stops; });
    });
  }
  std::vector<double> whole_after(static_cast<std::size_t>(returns), 0);
  on.on_start = [&](const record& started) {
    if (started.what.workload != interactive) return;
    const auto which = static_cast<std::size_t>((started.arrived - (instant{} + 16s)) / apart);
    whole_after[which] = std::max(whole_after[which], in_seconds(started.started - started.arrived));
  };
  for (int n = 0; n < returns; ++n) {
    // At any phase of what runs then.
    const instant back = instant{} + 16s + n * apart + duration(draw.between(0, duration(8s).count()));
    on.time().at(back, [&on] {
      for (std::int64_t k = 0; k < nominal; ++k) on.send(lasting(4s, interactive), [](const record&) {});
    });
  }
  if (plots != nullptr) {
    const std::string plot = victims == victim_rule::nobody ? "E3, a floor comes back by attrition: slots held"
                                                            : "E3, a floor is restored: slots held";
    const std::size_t first = plots->size();
    plots->push_back({plot, "owner of the floor", "s", "slots", {}});
    plots->push_back({plot, "borrower", "s", "slots", {}});
    for (instant when{}; when < end; when += 50ms) {
      on.time().at(when, [&on, plots, first, when] {
        const auto now = on.gate().statistics();
        (*plots)[first].points.emplace_back(in_seconds(when), static_cast<double>(now[interactive].held.slots));
        (*plots)[first + 1].points.emplace_back(in_seconds(when), static_cast<double>(now[batch].held.slots));
      });
    }
  }
  on.time().run();
  into.times.insert(into.times.end(), whole_after.begin(), whole_after.end());
  into.returns += returns;
}

result run(const settings& asked) {
  constexpr int phases = 40;
  result out;
  table lent{"12 + 12 slots nominal, 24 and 6 clients without a pause, 1 s of service",
             {"seed", "held by the 24", "held by the 6", "longest wait of the 6, s"},
             {}};
  std::vector<double> busy;
  std::vector<double> waits;
  for (const std::uint64_t seed : asked.seeds) {
    const auto seen = lend(seed, out.plots.empty() ? &out.plots : nullptr);
    lent.rows.push_back({std::to_string(seed), text("%.2f", seen.busy_held), text("%.2f", seen.other_held),
                         text("%.3f", seen.other_longest_wait)});
    busy.push_back(seen.busy_held);
    waits.push_back(seen.other_longest_wait);
  }
  table restored{"12 slots lent to work of 8 s, wanted back all at once: time until the floor is whole, s",
                 {"what brings it back", "returns", "median", "95 %", "longest", "stops a return"},
                 {}};
  const struct {
    const char* name;
    victim_rule victims;
    int returns;
    duration spread;
    bool promised;
  } ways[] = {{"attrition alone", victim_rule::nobody, 1, 8s, false},
              {"restored within 2 s", victim_rule::least_sunk, 1, 8s, true},
              {"the same, back every 20 s", victim_rule::least_sunk, 20, 8s, false},
              {"attrition alone, all lent within a second", victim_rule::nobody, 1, 1s, false},
              {"restored within 2 s, all lent within a second", victim_rule::least_sunk, 1, 1s, false}};
  constexpr duration apart = 20s;
  double done = 0;
  for (const auto& way : ways) {
    restoration all;
    for (const std::uint64_t seed : asked.seeds) {
      asked.progress("E3", done);
      const int runs = way.returns > 1 ? 2 : phases;
      for (int n = 0; n < runs; ++n) {
        const bool drawn = n == 0 && seed == asked.seeds.front() && way.returns == 1 && way.spread == 8s;
        restore(1'000 * seed + static_cast<std::uint64_t>(n), way.returns, apart, way.spread, way.victims, all,
                drawn ? &out.plots : nullptr);
      }
      done += 1 / static_cast<double>(std::size(ways) * asked.seeds.size());
    }
    restored.rows.push_back({way.name, std::to_string(all.returns), text("%.2f", percentile(all.times, 0.5)),
                             text("%.2f", percentile(all.times, 0.95)), text("%.2f", percentile(all.times, 1)),
                             text("%.1f", static_cast<double>(all.stops) / static_cast<double>(all.returns))});
    if (!way.promised) continue;
    out.bars.push_back(at_most(std::string(way.name) + ": longest, 2 s and an abort of 50 ms", percentile(all.times, 1),
                               in_seconds(restore_within + abort_takes), "s"));
  }
  out.bars.insert(out.bars.begin(), {at_least("lending: the busy class holds on average, on every seed",
                                              percentile(busy, 0), static_cast<double>(published_reach), ""),
                                     at_most("lending: the other waits at most one service time, on every seed",
                                             percentile(waits, 1), 1, "s")});
  asked.progress("E3", 1);
  out.notes.emplace_back("a policy of its own: 24 slots in two equal floors, no elastic class, an abort takes 50 ms");
  out.notes.emplace_back(
      "work past 80 % of its length is never stopped: when all that borrows is, the floor waits for its end");
  out.tables = {std::move(lent), std::move(restored)};
  return out;
}

}  // namespace

experiment make_e3() { return {"E3", "an idle floor is lent, and restored when its owner is back", run}; }

}  // namespace sluice_sim
