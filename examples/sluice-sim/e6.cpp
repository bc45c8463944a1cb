#include "experiment.hpp"
#include "figures.hpp"
#include "gradient_limit.hpp"
#include "rig.hpp"

#include <sluice/sim/summary.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
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

constexpr std::int64_t pool = 64;
constexpr std::int64_t first_limit = 8;
constexpr int callers = 80;
constexpr double output_rate = 100;
constexpr duration sample_every = 100ms;
constexpr duration phase_lasts = 5min;

/// A provider for a while. It carries `carries` at once: beyond that it says 429, or gets slower. None: nothing ends in
/// time, whatever is sent.
struct phase {
  std::int64_t carries = 0;
  sim::provider_model provider{};
};

/// How a provider changes, and what is asked of it.
struct story {
  const char* name;
  std::vector<phase> phases;
  std::int64_t shortest = 10;
  std::int64_t longest = 3'000;
  duration time_out{-1};
};

phase refusing(std::int64_t slots) {
  phase made{slots, {}};
  made.provider.slots = slots;
  made.provider.queue = 0;
  made.provider.sigma = 0;
  made.provider.output_rate = output_rate;
  return made;
}

// Most is done with `knee` at once, which then take about twice as long as one alone; more only slow each other down.
phase slowing(std::int64_t knee) {
  phase made = refusing(1'000);
  made.carries = knee;
  made.provider.kappa = 1 / static_cast<double>(knee * knee);
  return made;
}

phase answering_nobody() {
  phase made = refusing(1'000);
  made.carries = 0;
  made.provider.prompt_rate = made.provider.output_rate = 1;
  return made;
}

std::vector<story> stories() {
  return {{"halves and returns", {refusing(32), refusing(16), refusing(32)}},
          {"knee moves", {slowing(16), slowing(8), slowing(32)}},
          {"all time out at 5 s", {refusing(32), answering_nobody(), refusing(32)}, 10, 300, 5s}};
}

/// What one phase was like. Not a number: it never came to that, or there is none.
struct figures_of_phase {
  /// From the change until limit and use are, for one service time, what the provider carries; and in service times.
  double converged = std::nan("");
  double in_service_times = std::nan("");
  /// After ten service times: the share of time with the limit beyond what is carried, and what was done of what could
  /// be.
  double over = 0;
  double used = 0;
  double limited_per_hundred = 0;
  double last_limit = 0;
};

struct outcome {
  std::vector<figures_of_phase> phases;
  series limit;
};

class follower {
 public:
  follower(std::uint64_t seed, const story& what, bool ours)
      : what_(what),
        ours_(ours),
        policy_(policy_of(ours)),
        draw_(seed),
        on_(rules_of(what, policy_, seed)),
        limit_(first_limit, 1, pool),
        services_(what.phases.size()),
        answered_in_(what.phases.size()) {
    for (int n = 0; n < callers; ++n) {
      on_.time().at(instant{} + duration(draw_.between(0, duration(1s).count())), [this] { ask(); });
    }
    for (std::size_t n = 1; n < what.phases.size(); ++n) {
      on_.time().at(instant{} + n * phase_lasts, [this, n] { on_.change(what_.phases[n].provider); });
    }
    for (instant when{}; when < end(); when += sample_every) on_.time().at(when, [this] { look(); });
  }

  outcome run() {
    on_.time().run_until(end());
    outcome made;
    for (std::size_t n = 0; n < what_.phases.size(); ++n) made.phases.push_back(figures_of(n));
    made.limit = {
        std::string("E6, ") + what_.name + ": limit", ours_ ? "sluice" : "gradient of durations", "s", "slots", {}};
    for (const look_at& each : seen_) made.limit.points.emplace_back(in_seconds(each.when), each.limit);
    return made;
  }

 private:
  struct look_at {
    instant when{};
    double limit = 0;
    double running = 0;
    std::int64_t answered = 0;
    std::int64_t limited = 0;
  };

  static sluice::policy policy_of(bool ours) {
    sluice::policy rules({ours ? pool : first_limit, 100'000'000});
    for (auto& each : rules.classes) each.floor = {};
    if (!ours) return rules;
    rules.adaptive.enabled = true;
    rules.adaptive.initial = first_limit;
    rules.adaptive.tolerance = 1.5;
    return rules;
  }

  static rig_rules rules_of(const story& what, const sluice::policy& policy, std::uint64_t seed) {
    rig_rules rules;
    rules.policy = policy;
    rules.provider = what.phases.front().provider;
    rules.report_every = 512;
    rules.seed = seed;
    return rules;
  }

  [[nodiscard]] instant end() const { return instant{} + what_.phases.size() * phase_lasts; }

  void ask() {
    errand what;
    what.workload = interactive;
    what.input_tokens = draw_.between(50, 2'000);
    const auto shortest = static_cast<double>(what_.shortest);
    what.output_tokens =
        std::llround(shortest * std::pow(static_cast<double>(what_.longest) / shortest, draw_.uniform()));
    what.max_tokens = what_.longest;
    what.time_out = what_.time_out;
    on_.send(what, [this](const record& over) { answer(over); });
  }

  void answer(const record& over) {
    const double took = in_seconds(over.ended - over.started);
    if (over.end == fate::rate_limited) {
      ++limited_;
      on_.time().in(duration(std::llround(1e9 * (0.5 + draw_.uniform()))), [this] { ask(); });
      return;
    }
    if (over.end == fate::answered) {
      ++answered_;
      const auto n = std::min(services_.size() - 1, static_cast<std::size_t>((over.ended - instant{}) / phase_lasts));
      ++answered_in_[n];
      services_[n] += took;
    }
    if (!ours_) {
      // It does not look at what failed at once, which would tell it that all is well.
      limit_.sample(took, static_cast<double>(on_.gate().in_flight()) + 1);
      if (const auto slots = std::llround(std::floor(limit_.limit())); slots != policy_.total.slots) {
        policy_.total.slots = slots;
        on_.change(policy_);
      }
    }
    ask();
  }

  void look() {
    const std::int64_t limit = ours_ ? on_.gate().statistics().adaptive_limit : policy_.total.slots;
    seen_.push_back({on_.time().now(), static_cast<double>(limit), static_cast<double>(on_.provider().running()),
                     answered_, limited_});
  }

  [[nodiscard]] figures_of_phase figures_of(std::size_t n) const {
    const auto of_phase = static_cast<std::size_t>(phase_lasts / sample_every);
    const std::span<const look_at> all(seen_.data() + n * of_phase, of_phase);
    const phase& here = what_.phases[n];
    const double service = here.carries == 0 ? in_seconds(what_.time_out) : service_in(n);
    const auto window = static_cast<std::size_t>(std::max(1.0, service / in_seconds(sample_every)));
    figures_of_phase made;
    for (std::size_t at = 0; at + window < all.size(); ++at) {
      if (!follows(all.subspan(at, window), here)) continue;
      made.converged = in_seconds(all[at].when - all[0].when);
      made.in_service_times = made.converged / service;
      break;
    }
    const auto steady = all.subspan(std::min(10 * window, all.size() - 1));
    for (const look_at& each : steady) {
      const bool over = each.limit > static_cast<double>(std::max<std::int64_t>(here.carries, 1));
      made.over += (over ? 1.0 : 0.0) / static_cast<double>(steady.size());
      made.used += use(each, here) / static_cast<double>(steady.size());
    }
    const auto answered = static_cast<double>(std::max<std::int64_t>(1, all.back().answered - all[0].answered));
    made.limited_per_hundred = 100 * static_cast<double>(all.back().limited - all[0].limited) / answered;
    made.last_limit = all.back().limit;
    return made;
  }

  [[nodiscard]] double service_in(std::size_t n) const {
    return services_[n] / static_cast<double>(std::max<std::int64_t>(1, answered_in_[n]));
  }

  // On average over what is looked at.
  static bool follows(std::span<const look_at> seen, const phase& here) {
    double limit = 0;
    double used = 0;
    for (const look_at& each : seen) {
      limit += each.limit / static_cast<double>(seen.size());
      used += use(each, here) / static_cast<double>(seen.size());
    }
    if (here.carries == 0) return limit < 1.001;
    if (used < 0.9) return false;
    // One that gets slower by degrees has no one limit that is right: that it does what it can do is all there is to
    // see.
    return here.provider.kappa > 0 ||
           std::abs(limit - static_cast<double>(here.carries)) <= 0.2 * static_cast<double>(here.carries);
  }

  // What the provider did of what it could have done.
  static double use(const look_at& at, const phase& here) {
    if (here.carries == 0) return 0;
    return here.provider.speedup(static_cast<std::int64_t>(at.running)) / here.provider.speedup(here.carries);
  }

  story what_;
  bool ours_;
  sluice::policy policy_;
  sim::random draw_;
  rig on_;
  gradient_limit limit_;
  std::vector<look_at> seen_;
  std::int64_t answered_ = 0;
  std::int64_t limited_ = 0;
  std::vector<double> services_;
  std::vector<std::int64_t> answered_in_;
};

using figure = double figures_of_phase::*;

sim::spread over_seeds(const std::vector<outcome>& seeds, std::size_t phase, figure which) {
  std::vector<double> values;
  for (const outcome& each : seeds) values.push_back(each.phases[phase].*which);
  return sim::spread_of(std::move(values));
}

std::string written(const char* format, const sim::spread& what, double factor = 1) {
  return text(format, factor * what.median) + " (" + text(format, factor * what.least) + "-" +
         text(format, factor * what.most) + ")";
}

/// The same for what may not have come about on every seed.
std::string if_ever(const std::vector<outcome>& seeds, std::size_t phase, figure which) {
  std::size_t ever = 0;
  for (const outcome& each : seeds) ever += std::isnan(each.phases[phase].*which) ? 0U : 1U;
  if (ever == 0) return "never";
  const std::string all = written("%.1f", over_seeds(seeds, phase, which));
  return ever == seeds.size() ? all : all + " on " + std::to_string(ever) + " of " + std::to_string(seeds.size());
}

void hold_to_bars(const story& what, const std::vector<outcome>& seeds, std::vector<bar>& bars) {
  for (std::size_t n = 0; n < what.phases.size(); ++n) {
    const std::string here = std::string(what.name) + ", phase " + std::to_string(n + 1) + ": ";
    const bool dead = what.phases[n].carries == 0;
    double slowest = 0;
    for (const outcome& each : seeds) {
      const double took = each.phases[n].in_service_times;
      slowest = std::isnan(took) || std::isnan(slowest) ? std::nan("") : std::max(slowest, took);
    }
    bars.push_back(at_most(here + (dead ? "at the minimum after so many time-outs, on every seed"
                                        : "follows after so many service times, on every seed"),
                           slowest, 10, ""));
    if (dead) {
      bars.push_back(at_most(here + "limit at the end, on every seed",
                             over_seeds(seeds, n, &figures_of_phase::last_limit).most, 1, ""));
    } else {
      bars.push_back(at_least(here + "used of what could be done",
                              100 * over_seeds(seeds, n, &figures_of_phase::used).median, 90, "%"));
    }
  }
}

void add_rows(const char* name, const story& what, const std::vector<outcome>& seeds, table& to) {
  for (std::size_t n = 0; n < what.phases.size(); ++n) {
    const bool dead = what.phases[n].carries == 0;
    const auto of = [&](figure which) { return over_seeds(seeds, n, which); };
    to.rows.push_back({name, std::to_string(n + 1), dead ? "nothing" : std::to_string(what.phases[n].carries),
                       if_ever(seeds, n, &figures_of_phase::converged),
                       if_ever(seeds, n, &figures_of_phase::in_service_times),
                       written("%.0f", of(&figures_of_phase::over), 100),
                       dead ? "-" : written("%.1f", of(&figures_of_phase::used), 100),
                       written("%.1f", of(&figures_of_phase::limited_per_hundred)),
                       written("%.0f", of(&figures_of_phase::last_limit))});
  }
}

result run(const settings& asked) {
  result out;
  double done = 0;
  const auto all = stories();
  for (const story& what : all) {
    table shown{std::string(what.name) + ": medians over seeds (least-most)",
                {"limit", "phase", "carries", "follows after s", "service times", "over %", "used %", "429s to 100",
                 "at the end"},
                {}};
    for (const bool ours : {true, false}) {
      std::vector<outcome> seeds;
      for (const std::uint64_t seed : asked.seeds) {
        asked.progress("E6, " + std::string(what.name), done);
        seeds.push_back(follower(seed, what, ours).run());
        done += 1 / static_cast<double>(2 * all.size() * asked.seeds.size());
      }
      add_rows(ours ? "sluice" : "gradient", what, seeds, shown);
      if (ours) hold_to_bars(what, seeds, out.bars);
      out.plots.push_back(std::move(seeds.front().limit));
    }
    out.tables.push_back(std::move(shown));
  }
  asked.progress("E6", 1);
  out.notes.emplace_back(
      "a policy of its own: 64 slots, a limit that begins at 8 and has a tolerance of 1.5; 80 callers without a pause");
  out.notes.emplace_back(
      "gradient: of raw durations, as Netflix's Gradient2 is documented, with a least limit of 1; it is not told of "
      "429s");
  out.notes.emplace_back(
      "where the knee moves, what is carried is where most is done; a little beyond it almost as much is");
  return out;
}

}  // namespace

experiment make_e6() { return {"E6", "a limit that follows what the provider carries", run}; }

}  // namespace sluice_sim
