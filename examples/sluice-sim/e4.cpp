#include "experiment.hpp"
#include "figures.hpp"
#include "rig.hpp"
#include "traces.hpp"

#include <sluice/sim/summary.hpp>
#include <sluice/sim/traffic.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;
using sluice::batch;
using sluice::duration;
using sluice::instant;
using sluice::interactive;

constexpr std::int64_t slots = 32;
constexpr double prompt_rate = 4'000;
constexpr double output_rate = 40;
constexpr duration lasts = 1h;
constexpr duration abort_takes = 50ms;

struct way {
  const char* name;
  victim_rule victims;
};
constexpr std::array<way, 4> ways{{{"least sunk (sluice)", victim_rule::least_sunk},
                                   {"newest first", victim_rule::newest},
                                   {"at random", victim_rule::any},
                                   {"none", victim_rule::nobody}}};

/// Bursts of so many chats, half as many at least and half as many again at most, one every so often.
struct burst {
  std::int64_t chats;
  duration apart;
};
// The first is what the bars are about.
constexpr std::array<burst, 3> bursts{{{4, 20s}, {8, 30s}, {16, 60s}}};

sluice::policy filled_by_batch() {
  sluice::policy rules({slots, 1'000'000});
  rules[interactive].floor = {24, 600'000};
  rules[batch].floor = {4, 100'000};
  rules[batch].elastic = {};
  return rules;
}

struct outcome {
  std::vector<double> latencies;
  std::vector<double> first_tokens;
  std::int64_t stops = 0;
  std::int64_t wasted = 0;
  std::int64_t jobs = 0;
  std::int64_t finished = 0;
  std::int64_t useful = 0;
  int most_stops = 0;
  /// What had been wasted by when.
  series waste;
};

errand next_job(sim::random& draw, const std::vector<std::int64_t>& prompts) {
  errand what;
  what.workload = batch;
  what.input_tokens = prompts[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(prompts.size()) - 1))];
  const double streaming = 30 + 90 * draw.uniform() - static_cast<double>(what.input_tokens) / prompt_rate;
  what.output_tokens = std::llround(streaming * output_rate);
  what.max_tokens = std::llround(120 * output_rate);
  return what;
}

errand next_chat(sim::random& draw) {
  constexpr sim::lognormal_size prompt{600, 1.0, 20, 8'000};
  constexpr sim::lognormal_size answer{120, 0.6, 10, 600};
  errand what;
  what.workload = interactive;
  what.input_tokens = prompt.draw_from(draw);
  what.output_tokens = answer.draw_from(draw);
  what.max_tokens = answer.most;
  return what;
}

// The same jobs in the same order, and the same chats, whoever is stopped.
class trial {
 public:
  trial(std::uint64_t seed, const burst& of, const way& stopped, const std::vector<std::int64_t>& prompts)
      : on_(rules_of(seed, stopped.victims)), jobs_(seed), prompts_(prompts) {
    seen_.waste = {"E4: tokens wasted", stopped.name, "s", "tokens", {}};
    sim::random chats(seed + 1'000'000);
    // A few more than the pool holds, so that there is always one to take a free slot.
    for (std::int64_t n = 0; n < slots + 8; ++n) {
      on_.time().at(instant{} + duration(chats.between(0, duration(60s).count())), [this] { submit(); });
    }
    for (instant when = instant{} + 120s; when < end; when += chats.exponential(of.apart)) {
      const std::int64_t many = chats.between((of.chats + 1) / 2, of.chats + of.chats / 2);
      for (std::int64_t n = 0; n < many; ++n) {
        const errand what = next_chat(chats);
        on_.time().at(when + duration(chats.between(0, duration(1s).count())), [this, what] { send(what); });
      }
    }
  }

  outcome run() {
    on_.time().run();
    return std::move(seen_);
  }

 private:
  static rig_rules rules_of(std::uint64_t seed, victim_rule victims) {
    rig_rules rules;
    rules.policy = filled_by_batch();
    rules.provider.slots = slots;
    rules.provider.queue = 0;
    rules.provider.sigma = 0;
    rules.provider.prompt_rate = prompt_rate;
    rules.provider.output_rate = output_rate;
    rules.victims = victims;
    rules.stop_delay = abort_takes;
    rules.seed = seed;
    return rules;
  }

  void submit() {
    ++seen_.jobs;
    on_.send(next_job(jobs_, prompts_), [this](const record& over) {
      seen_.finished += over.end == fate::answered ? 1 : 0;
      seen_.stops += over.stops;
      seen_.wasted += over.wasted_tokens;
      seen_.useful += over.what.input_tokens + over.what.output_tokens;
      seen_.most_stops = std::max(seen_.most_stops, over.stops);
      seen_.waste.points.emplace_back(in_seconds(on_.time().now()), static_cast<double>(seen_.wasted));
      if (on_.time().now() < end) submit();
    });
  }

  void send(const errand& chat) {
    on_.send(chat, [this](const record& over) {
      seen_.latencies.push_back(in_seconds(over.ended - over.arrived));
      seen_.first_tokens.push_back(in_seconds(over.first_token - over.arrived));
    });
  }

  static constexpr instant end = instant{} + lasts;
  rig on_;
  sim::random jobs_;
  const std::vector<std::int64_t>& prompts_;
  outcome seen_;
};

// Medians over seeds.
struct figures_of_way {
  double latency = 0;
  double first_token = 0;
  double stops = 0;
  double wasted_a_stop = 0;
  double wasted = 0;
  double share = 0;
  double jobs = 0;
  // Over all seeds.
  double most_stops = 0;
  double least_finished = 1;
};

figures_of_way figures_of(const std::vector<outcome>& seeds) {
  const auto median = [&seeds](const auto& figure) {
    std::vector<double> values;
    for (const outcome& each : seeds) values.push_back(figure(each));
    return sim::spread_of(values).median;
  };
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  figures_of_way made;
  made.latency = median([](const outcome& each) { return percentile(each.latencies, 0.95); });
  made.first_token = median([](const outcome& each) { return percentile(each.first_tokens, 0.95); });
  made.stops = median([&](const outcome& each) { return number(each.stops); });
  made.wasted = median([&](const outcome& each) { return number(each.wasted); });
  made.wasted_a_stop = median([&](const outcome& each) { return number(each.wasted) / number(each.stops); });
  made.share = median([&](const outcome& each) { return 100 * number(each.wasted) / number(each.useful); });
  made.jobs = median([&](const outcome& each) { return number(each.jobs); });
  for (const outcome& each : seeds) {
    made.most_stops = std::max(made.most_stops, number(each.most_stops));
    made.least_finished = std::min(made.least_finished, number(each.finished) / number(each.jobs));
  }
  return made;
}

std::vector<std::string> row_of(const char* name, const figures_of_way& what, const figures_of_way& newest) {
  const bool any = what.stops > 0;
  return {name,
          text("%.2f", what.latency),
          text("%.2f", what.first_token),
          text("%.0f", what.stops),
          any ? text("%.0f", what.wasted_a_stop) : "-",
          text("%.0f", what.wasted),
          text("%.2f", what.wasted / newest.wasted),
          text("%.1f", what.share),
          text("%.0f", what.most_stops),
          text("%.0f", what.jobs),
          text("%.1f", 100 * what.least_finished)};
}

void hold_to_bars(const figures_of_way& own, const figures_of_way& newest, std::vector<bar>& bars) {
  bars.push_back(at_most("interactive p95, within 1 % of newest first's", own.latency, 1.01 * newest.latency, "s"));
  bars.push_back(at_most("interactive p95 to the first token, within 5 % of newest first's", own.first_token,
                         1.05 * newest.first_token, "s"));
  bars.push_back(at_most("waste, as a share of newest first's", own.wasted / newest.wasted, 0.5, ""));
  bars.push_back(at_most("most preemptions of one job", own.most_stops, 2, ""));
  bars.push_back(at_least("batch jobs that finish, on every seed", 100 * own.least_finished, 100, "%"));
}

result run(const settings& asked) {
  result out;
  std::vector<std::int64_t> prompts;
  for (const auto& each : azure_trace(asked, asked.seeds.front(), out.notes)) {
    if (each.workload == batch) prompts.push_back(each.attempts[0].input_tokens);
  }
  double done = 0;
  for (const burst& of : bursts) {
    std::array<figures_of_way, ways.size()> figures;
    for (std::size_t n = 0; n < ways.size(); ++n) {
      std::vector<outcome> seeds;
      for (const std::uint64_t seed : asked.seeds) {
        asked.progress("E4", done);
        seeds.push_back(trial(seed, of, ways[n], prompts).run());
        done += 1 / static_cast<double>(bursts.size() * ways.size() * asked.seeds.size());
      }
      figures[n] = figures_of(seeds);
      if (of.chats == bursts.front().chats) out.plots.push_back(std::move(seeds.front().waste));
    }
    table shown{"Bursts of about " + std::to_string(of.chats) + " chats, one in " + text("%.0f", in_seconds(of.apart)) +
                    " s, beside 32 slots of batch jobs: medians over seeds",
                {"who is stopped", "p95 s", "token p95 s", "preemptions", "wasted each", "wasted in all", "of newest's",
                 "% of batch", "most for one", "jobs", "% finished"},
                {}};
    for (std::size_t n = 0; n < ways.size(); ++n) {
      shown.rows.push_back(row_of(ways[n].name, figures[n], figures[1]));
    }
    out.tables.push_back(std::move(shown));
    if (of.chats == bursts.front().chats) hold_to_bars(figures[0], figures[1], out.bars);
  }
  asked.progress("E4", 1);
  out.notes.emplace_back(
      "a policy of its own: 32 slots, floors of 24 and 4, no elastic class, so that batch fills whatever is lent to "
      "it");
  out.notes.emplace_back(
      "the bars are about the first table: the more of the pool a burst takes, the less there is to choose from");
  return out;
}

}  // namespace

experiment make_e4() { return {"E4", "preemption: whose work is stopped, and what that wastes", run}; }

}  // namespace sluice_sim
