#include "experiment.hpp"
#include "figures.hpp"
#include "rig.hpp"

#include <sluice/sim/summary.hpp>
#include <sluice/sim/traffic.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;
using sluice::duration;
using sluice::instant;
using sluice::interactive;

constexpr std::int64_t slots = 12;
constexpr double output_rate = 100;
constexpr int chatters = 10;
constexpr int children = 50;

// Slots are what is scarce: the provider is as fast for all of them as for one.
rig_rules uncontended(std::uint64_t seed, std::int64_t many) {
  rig_rules rules;
  rules.policy = sluice::policy({many, 1'000'000});
  rules.policy[interactive].floor = {};
  rules.policy[sluice::batch].floor = {};
  rules.provider.slots = many;
  rules.provider.queue = 0;
  rules.provider.sigma = 0;
  rules.provider.output_rate = output_rate;
  rules.seed = seed;
  return rules;
}

/// What runs beside the chats.
enum class beside : std::uint8_t { nothing, run_of_their_tenant, run_of_its_own_tenant };

// About three seconds each; the caller allows more than most take.
errand ask(sim::random& draw, sluice::tenant who, sluice::run_id run) {
  constexpr sim::lognormal_size answer{300, 0.5, 50, 1'000};
  errand what;
  what.workload = interactive;
  what.tenant = who;
  what.run = run;
  what.input_tokens = draw.between(200, 600);
  what.output_tokens = answer.draw_from(draw);
  what.max_tokens = answer.most;
  return what;
}

class forking {
 public:
  forking(std::uint64_t seed, beside what)
      : on_(uncontended(seed, slots)), chats_(seed), run_draws_(seed + 1'000'000), what_(what) {
    for (int n = 0; n < chatters; ++n) pause_and_ask();
    if (what == beside::nothing) return;
    run_ = on_.open_run();
    on_.time().at(instant{} + 5s, [this] { plan(); });
  }

  /// Of each chat, from its arrival to its end.
  std::vector<double> run() {
    on_.time().run();
    return std::move(latencies_);
  }
  [[nodiscard]] std::int64_t children_done() const noexcept { return children_done_; }

 private:
  static constexpr instant end = instant{} + 30min;

  void pause_and_ask() {
    on_.time().in(chats_.exponential(2s), [this] {
      if (on_.time().now() >= end) return;
      on_.send(ask(chats_, {}, {}), [this](const record& over) {
        latencies_.push_back(in_seconds(over.ended - over.arrived));
        pause_and_ask();
      });
    });
  }

  // One step that plans, then all children at once; when the last of them is done, it plans again.
  void plan() {
    if (on_.time().now() >= end) return;
    on_.send(ask(run_draws_, who(), run_), [this](const record&) {
      left_ = children;
      for (int n = 0; n < children; ++n) {
        const sluice::run_id child = on_.open_run(run_);
        on_.send(ask(run_draws_, who(), child), [this, child](const record&) {
          on_.close_run(child);
          ++children_done_;
          if (--left_ == 0) plan();
        });
      }
    });
  }

  [[nodiscard]] sluice::tenant who() const noexcept {
    return what_ == beside::run_of_its_own_tenant ? sluice::tenant(7) : sluice::tenant();
  }

  rig on_;
  sim::random chats_;
  sim::random run_draws_;
  beside what_;
  sluice::run_id run_{};
  std::vector<double> latencies_;
  std::int64_t children_done_ = 0;
  int left_ = 0;
};

void fork(const settings& asked, result& out) {
  constexpr std::array<std::pair<beside, const char*>, 3> ways{
      {{beside::nothing, "chats alone"},
       {beside::run_of_their_tenant, "beside a run of their tenant with 50 children"},
       {beside::run_of_its_own_tenant, "beside a run of a tenant of its own with 50 children"}}};
  table shown{"10 chats on 12 slots, beside a run that forks 50 children again and again: medians over seeds",
              {"", "chat p50 s", "chat p95 s", "p95 to alone", "children done a minute"},
              {}};
  double alone = 0;
  for (const auto& [what, name] : ways) {
    std::vector<double> p50;
    std::vector<double> p95;
    std::vector<double> rate;
    for (const std::uint64_t seed : asked.seeds) {
      forking trial(seed, what);
      const auto latencies = trial.run();
      p50.push_back(percentile(latencies, 0.5));
      p95.push_back(percentile(latencies, 0.95));
      rate.push_back(static_cast<double>(trial.children_done()) / 30);
    }
    const double here = sim::spread_of(p95).median;
    if (what == beside::nothing) alone = here;
    shown.rows.push_back({name, text("%.2f", sim::spread_of(p50).median), text("%.2f", here),
                          text("%.2f", here / alone), text("%.0f", sim::spread_of(rate).median)});
    if (what == beside::nothing) continue;
    out.bars.push_back(at_most(std::string("chat p95 ") + name + ", to alone", here / alone, 1.3, ""));
  }
  out.tables.push_back(std::move(shown));
}

// How far apart two tenants of weight 1 and 2 come that always have work waiting.
struct apart {
  /// The most that what they were served between any two instants differs, each divided by its weight.
  double most = 0;
  double bound = 0;
  double share = 0;
  series line;
};

apart backlogged(std::uint64_t seed, bool exact) {
  rig_rules rules = uncontended(seed, 8);
  rules.policy.tenants.emplace_back("one");
  rules.policy.tenants.emplace_back("two");
  rules.policy.tenants.back().weight = 2;
  rig on(std::move(rules));
  constexpr instant begin = instant{} + 10s;
  constexpr instant end = instant{} + 20min;
  constexpr std::int64_t most_tokens = 4'000;
  const std::array<sluice::tenant, 2> who{sluice::tenant("one"), sluice::tenant("two")};
  constexpr std::array<double, 2> weights{1, 2};
  std::array<sim::random, 2> draws{sim::random(seed), sim::random(seed + 1'000'000)};
  std::array<double, 2> served{};
  double least = 0;
  double greatest = 0;
  apart seen;
  seen.bound = most_tokens / weights[0] + most_tokens / weights[1];
  seen.line = {"E5: two tenants of weight 1 and 2: tokens served, each by its weight, apart",
               exact ? "all that is reserved is used" : "half of it is used",
               "s",
               "tokens",
               {}};
  const auto side = [&](const record& of) { return of.what.tenant == who[0] ? 0U : 1U; };
  const auto measure = [&] {
    // Not before both wait, nor after one of them has nothing left.
    if (on.time().now() < begin || on.time().now() >= end) return;
    if (seen.line.points.empty()) served = {};
    const double difference = served[0] / weights[0] - served[1] / weights[1];
    least = std::min(least, difference);
    greatest = std::max(greatest, difference);
    seen.share = served[1] / (served[0] + served[1]);
    seen.line.points.emplace_back(in_seconds(on.time().now()), difference);
  };
  on.on_start = [&](const record& started) {
    served[side(started)] += static_cast<double>(started.what.input_tokens + started.what.max_tokens);
    measure();
  };
  std::function<void(std::size_t)> send = [&](std::size_t n) {
    errand what;
    what.workload = interactive;
    what.tenant = who[n];
    what.input_tokens = draws[n].between(10, most_tokens / 2);
    what.max_tokens = draws[n].between(1, most_tokens / 2);
    what.output_tokens = exact ? what.max_tokens : draws[n].between(1, what.max_tokens);
    on.send(what, [&, n](const record& over) {
      served[n] -= static_cast<double>(over.what.max_tokens - over.what.output_tokens);
      measure();
      if (on.time().now() < end) send(n);
    });
  };
  for (int n = 0; n < 60; ++n) {
    send(0);
    send(1);
  }
  on.time().run();
  seen.most = greatest - least;
  return seen;
}

void weights(const settings& asked, result& out) {
  table shown{
      "Two tenants of weight 1 and 2, always with work waiting: the most they come apart between any two instants",
      {"seed", "what they use", "tokens apart", "bound", "share of the heavier %"},
      {}};
  for (const bool exact : {true, false}) {
    double worst = 0;
    double bound = 0;
    for (const std::uint64_t seed : asked.seeds) {
      auto seen = backlogged(seed, exact);
      worst = std::max(worst, seen.most);
      bound = seen.bound;
      shown.rows.push_back({std::to_string(seed), exact ? "all they reserve" : "half of it", text("%.0f", seen.most),
                            text("%.0f", seen.bound), text("%.2f", 100 * seen.share)});
      if (seed == asked.seeds.front()) out.plots.push_back(std::move(seen.line));
    }
    if (exact) out.bars.push_back(at_most("tokens apart, each by its weight, on every seed", worst, bound, ""));
  }
  out.tables.push_back(std::move(shown));
}

result run(const settings& asked) {
  result out;
  asked.progress("E5", 0);
  fork(asked, out);
  asked.progress("E5", 0.8);
  weights(asked, out);
  asked.progress("E5", 1);
  out.notes.emplace_back("a policy of its own: slots alone are scarce, and all work is of one class");
  out.notes.emplace_back(
      "the bound is about costs that are known when work starts; what is reserved in vain is corrected only when it "
      "ends");
  return out;
}

}  // namespace

experiment make_e5() { return {"E5", "fairness: a run that forks, and tenants of unequal weight", run}; }

}  // namespace sluice_sim
