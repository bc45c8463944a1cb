#include "arms.hpp"
#include "experiment.hpp"
#include "load.hpp"
#include "traces.hpp"
#include "trial_plots.hpp"

#include <sluice/sim/arms.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;
using sluice::batch;
using sluice::interactive;

constexpr std::array loads{0.6, 0.9, 1.2};

std::vector<contender> arms_of(const settings& asked) {
  sim::caller_rules callers;
  callers.done_within[interactive.index()] = 30s;
  callers.done_within[batch.index()] = 240s;
  sim::queue_rules two_at_most;
  two_at_most.first = sim::queue_rules::order::workload;
  two_at_most.batch_at_most = 2;
  const auto rules = asked.policy;
  return {{"none", [] { return sim::make_open_arm(); }, {}},
          {"static cap", [] { return sim::make_static_cap_arm({}); }, {}},
          {"fail-fast",
           [] {
             return sim::make_fail_fast_arm({32, 40'000});
           },
           {}},
          {"two-at-most", [two_at_most] { return sim::make_queue_arm("two-at-most", two_at_most); }, {}},
          {"sluice", [rules] { return sim::make_policy_arm("sluice", rules); }, callers}};
}

// Those that a reader wants to compare; the provider's own behaviour is in the tables.
bool is_drawn(std::string_view arm) { return arm == "fail-fast" || arm == "two-at-most" || arm == "sluice"; }

std::string text(const char* format, double value) {
  char written[48];
  std::snprintf(written, sizeof written, format, value);
  return written;
}

std::vector<std::string> row_of(const std::string& name, const outcome_of_trial& what, double wall) {
  const auto chats = sim::summarise(what.visits, interactive);
  const auto code = sim::summarise(what.visits, batch);
  return {name,
          percent(sim::spread_of({chats.success})),
          percent(sim::spread_of({chats.good})),
          seconds(sim::spread_of({chats.latency_p50})),
          seconds(sim::spread_of({chats.latency_p95})),
          seconds(sim::spread_of({chats.first_token_p50})),
          seconds(sim::spread_of({chats.first_token_p95})),
          percent(sim::spread_of({code.success})),
          seconds(sim::spread_of({code.latency_p95})),
          std::to_string(chats.rejections + code.rejections),
          std::to_string(chats.refusals + code.refusals),
          std::to_string(chats.wasted_tokens + code.wasted_tokens),
          text("%.0f", static_cast<double>(what.visits.size()) / wall)};
}

result run(const settings& asked) {
  result out;
  const auto trace = azure_trace(asked, asked.seeds.front(), out.notes);
  const auto arms = arms_of(asked);
  double done = 0;
  for (const double load : loads) {
    table figures{"Mean load " + text("%.1f", load) + " of what the provider carries",
                  {"arm", "interactive ok %", "good %", "p50 s", "p95 s", "token p50 s", "p95 s", "batch ok %",
                   "batch p95 s", "429s", "refused", "tokens wasted", "requests/s of wall time"},
                  {}};
    sim::trial_rules rules;
    rules.provider = at_load(trace, {}, load);
    rules.sample_every = 5s;
    for (const auto& arm : arms) {
      asked.progress("E7 at load " + text("%.1f", load), done);
      const auto begin = std::chrono::steady_clock::now();
      const auto what = try_out(arm, trace, rules);
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
      figures.rows.push_back(row_of(arm.name, what, wall.count()));
      if (is_drawn(arm.name)) {
        const std::string panel = "load " + text("%.1f", load) + ": " + arm.name;
        add_times(out.plots, panel, what.visits);
        add_levels(out.plots, panel, what);
      }
      done += 1 / static_cast<double>(loads.size() * arms.size());
    }
    out.tables.push_back(std::move(figures));
  }
  asked.progress("E7", 1);
  out.notes.push_back("good: of all interactive requests, those with a first token within 5 s and an end within 30 s");
  return out;
}

}  // namespace

experiment make_e7() { return {"E7", "an hour of real chats and code at three loads", run}; }

}  // namespace sluice_sim
