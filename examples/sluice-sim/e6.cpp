#include "experiment.hpp"
#include "figures.hpp"
#include "gradient_limit.hpp"
#include "rig.hpp"

#include <sluice/sim/summary.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

/// A provider for a while. It carries `carries` at once: beyond that it says 429, or gets slower.
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
  /// The phase in which everything times out, or none.
  std::size_t dead = 99;
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
  made.carries = 1;
  made.provider.prompt_rate = made.provider.output_rate = 1;
  return made;
}

std::vector<story> stories() {
  return {{"halves and returns", {refusing(32), refusing(16), refusing(32)}},
          {"knee moves", {slowing(16), slowing(8), slowing(32)}},
          {"all time out at 5 s", {refusing(32), answering_nobody(), refusing(32)}, 10, 300, 5s, 1}};
}

/// What one phase was like.
struct figures_of_phase {
  /// From the change until limit and use stay near what is carried for a service time.
  double converged = std::nan("");
  /// Of the time, and of the work that could have been done, after ten service times.
  double over = 0;
  double utilisation = 0;
  double limited_per_hundred = 0;
  double last_limit = 0;
};

struct outcome {
  std::vector<figures_of_phase> phases;
  double service = 0;
  series limit;
};

class follower {
 public:
  follower(std::uint64_t seed, const story& what, bool ours)
      : what_(what), ours_(ours), policy_(policy_of(ours)), draw_(seed), on_(rules_of(what, policy_, seed)), limit_(first_limit, 1, pool) {
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
    made.service = services_ / static_cast<double>(std::max<std::int64_t>(1, answered_));
    for (std::size_t n = 0; n < what_.phases.size(); ++n) made.phases.push_back(figures_of(n, made.service));
    made.limit = {std::string("E6, ") + what_.name + ": limit", ours_ ? "sluice" : "gradient of durations", "s", "slots", {}};
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
    rules.adaptive.tolerance = 2;
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
    what.output_tokens = std::llround(static_cast<double>(what_.shortest) *
                                      std::pow(static_cast<double>(what_.longest) / static_cast<double>(what_.shortest), draw_.uniform()));
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
      services_ += took;
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
    const double limit = ours_ ? static_cast<double>(on_.gate().statistics().adaptive_limit) : static_cast<double>(policy_.total.slots);
    seen_.push_back({on_.time().now(), limit, static_cast<double>(on_.provider().running()), answered_, limited_});
  }

  [[nodiscard]] figures_of_phase figures_of(std::size_t n, double service) const {
    const auto of_phase = static_cast<std::size_t>(phase_lasts / sample_every);
    const auto first = seen_.begin() + static_cast<std::ptrdiff_t>(n * of_phase);
    const auto last = first + static_cast<std::ptrdiff_t>(of_phase);
    const phase& here = what_.phases[n];
    const auto carries = static_cast<double>(here.carries);
    const auto most = here.provider.speedup(here.carries);
    const auto window = static_cast<std::ptrdiff_t>(service / in_seconds(sample_every));
    figures_of_phase made;
    for (auto at = first; at + window < last; ++at) {
      double limit = 0;
      double done = 0;
      for (auto each = at; each < at + window; ++each) {
        limit += each->limit / static_cast<double>(window);
        done += use(*each, here, most) / static_cast<double>(window);
      }
      if (std::abs(limit - carries) > 0.2 * carries && here.provider.kappa == 0) continue;
      if (done < 0.9) continue;
      made.converged = in_seconds(at->when - first->when);
      break;
    }
    const auto steady = first + 10 * window;
    for (auto at = steady; at < last; ++at) {
      made.over += (at->running > carries || at->limit > carries ? 1.0 : 0.0) / static_cast<double>(last - steady);
      made.utilisation += use(*at, here, most) / static_cast<double>(last - steady);
    }
    const auto answered = std::max<std::int64_t>(1, (last - 1)->answered - first->answered);
    made.limited_per_hundred = 100 * static_cast<double>((last - 1)->limited - first->limited) / static_cast<double>(answered);
    made.last_limit = (last - 1)->limit;
    return made;
  }

  // What the provider did of what it could have done.
  static double use(const look_at& at, const phase& here, double most) {
    return here.provider.speedup(static_cast<std::int64_t>(at.running)) / most;
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
  double services_ = 0;
};

result run(const settings& asked) {
  result out;
  double done = 0;
  for (const story& what : stories()) {
    table shown{std::string(what.name) + ": medians over seeds (least-most)",
                {"limit", "phase", "carries", "converged s", "in service times", "over %", "used %", "429s to 100", "limit at the end"}, {}};
    for (const bool ours : {true, false}) {
      std::vector<outcome> seeds;
      for (const std::uint64_t seed : asked.seeds) {
        asked.progress("E6", done);
        seeds.push_back(follower(seed, what, ours).run());
        done += 1 / static_cast<double>(6 * asked.seeds.size());
      }
      for (std::size_t n = 0; n < what.phases.size(); ++n) {
        const auto m = [&](auto f) { std::vector<double> v; for (auto& s : seeds) v.push_back(f(s.phases[n], s)); const auto sp = sim::spread_of(v); return text("%.1f", sp.median) + " (" + text("%.1f", sp.least) + "-" + text("%.1f", sp.most) + ")"; };
        shown.rows.push_back({ours ? "sluice" : "gradient", std::to_string(n + 1), std::to_string(what.phases[n].carries),
          m([](auto& p, auto&) { return p.converged; }), m([](auto& p, auto& s) { return p.converged / s.service; }), m([](auto& p, auto&) { return 100 * p.over; }),
          m([](auto& p, auto&) { return 100 * p.utilisation; }), m([](auto& p, auto&) { return p.limited_per_hundred; }), m([](auto& p, auto&) { return p.last_limit; })});
      }
      out.plots.push_back(std::move(seeds.front().limit));
    }
    out.tables.push_back(std::move(shown));
  }
  asked.progress("E6", 1);
  return out;
}

}  // namespace

experiment make_e6() { return {"E6", "a limit that follows what the provider carries", run}; }

}  // namespace sluice_sim
