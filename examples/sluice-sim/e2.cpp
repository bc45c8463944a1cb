#include "arms.hpp"
#include "experiment.hpp"
#include "traces.hpp"

#include <sluice/sim/arms.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>

namespace sluice_sim {
namespace {

using namespace std::chrono_literals;
namespace sim = sluice::sim;
using sluice::batch;
using sluice::interactive;

constexpr sluice::duration limit = 10s;

struct contention {
  double sigma;
  // What is to be reached, and what the same traffic gave elsewhere without waiting.
  double bar;
  double fail_fast;
};
constexpr std::array<contention, 4> levels{{{0.15, 99.5, 98.9}, {0.25, 93, 87.5}, {0.35, 70, 61.2}, {0.45, 58, 40.6}}};
constexpr double plain_edf_at_035 = 31.9;

std::vector<contender> arms_of(const settings& asked) {
  sim::caller_rules callers;
  callers.done_within[interactive.index()] = limit;
  callers.done_within[batch.index()] = 240s;
  sim::caller_rules leaving = callers;
  leaving.hang_up_at_deadline = true;
  const auto queue = [&callers](std::string name, sim::queue_rules::order first) {
    sim::queue_rules rules;
    rules.first = first;
    return contender{name, [name, rules] { return sim::make_queue_arm(name, rules); }, callers};
  };
  const auto fail_fast = [] { return sim::make_fail_fast_arm({32, 40'000}); };
  const auto shipped = [rules = asked.policy] { return sim::make_policy_arm("sluice", rules); };
  return {queue("FIFO semaphore", sim::queue_rules::order::arrival),
          queue("earliest deadline", sim::queue_rules::order::deadline),
          {"fail-fast", fail_fast, callers},
          {"sluice", shipped, callers},
          {"fail-fast, late callers hang up", fail_fast, leaving},
          {"sluice, late callers hang up", shipped, leaving}};
}

std::string sigma_text(double sigma) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", sigma);
  return text;
}

result run(const settings& asked) {
  result out;
  const auto arms = arms_of(asked);
  table in_time{"Share of interactive requests done within 10 s, %: medians over seeds (least-most)", {"arm"}, {}};
  table batches{"Share of batch requests done, %", {"arm"}, {}};
  for (const auto& arm : arms) {
    in_time.rows.push_back({arm.name});
    batches.rows.push_back({arm.name});
  }
  std::vector<std::vector<sim::trace_request>> traces;
  for (const std::uint64_t seed : asked.seeds) traces.push_back(replay_trace(asked, seed, out.notes));
  const bool as_published = are_published(asked, out.notes);
  double done = 0;
  const auto drawn = [&](const char* plot, const std::string& name) {
    const auto comma = name.find(", ");
    const bool alone = comma == std::string::npos;
    const std::string panel = alone ? "callers stay" : name.substr(comma + 2);
    return series{plot, name.substr(0, comma), "sigma", "%", {}, mark::line, panel};
  };
  std::vector<series> shares;
  for (const auto& arm : arms) shares.push_back(drawn("Interactive requests done within 10 s", arm.name));
  for (const auto& arm : arms) shares.push_back(drawn("Batch requests done", arm.name));
  for (const contention& level : levels) {
    const std::string at = " at sigma " + sigma_text(level.sigma);
    in_time.columns.push_back("sigma " + sigma_text(level.sigma));
    batches.columns.push_back(in_time.columns.back());
    for (std::size_t i = 0; i < arms.size(); ++i) {
      asked.progress("E2" + at, done);
      std::vector<double> served;
      std::vector<double> finished;
      for (std::size_t seed = 0; seed < traces.size(); ++seed) {
        sim::trial_rules rules;
        rules.provider.sigma = level.sigma;
        const auto what = try_out(arms[i], traces[seed], rules);
        served.push_back(sim::served_within(what.visits, interactive, limit));
        finished.push_back(sim::summarise(what.visits, batch).success);
      }
      done += 1 / static_cast<double>(levels.size() * arms.size());
      const auto share = sim::spread_of(served);
      const auto batch_share = sim::spread_of(finished);
      in_time.rows[i].push_back(percent(share));
      batches.rows[i].push_back(percent(batch_share));
      shares[i].points.emplace_back(level.sigma, 100 * share.median);
      shares[arms.size() + i].points.emplace_back(level.sigma, 100 * batch_share.median);
      const std::string& name = arms[i].name;
      if (name == "fail-fast" && as_published) {
        out.bars.push_back(near_to("fail-fast as published" + at, 100 * share.median, level.fail_fast, 5, "%"));
      } else if (name == "earliest deadline" && as_published && level.sigma == 0.35) {
        out.bars.push_back(at_most("earliest deadline collapses" + at, 100 * share.median, plain_edf_at_035 + 5, "%"));
      } else if (name == "sluice") {
        out.bars.push_back(at_least("sluice: interactive in time" + at, 100 * share.median, level.bar, "%"));
        out.bars.push_back(
            {"sluice: batch done on every seed" + at + " >", 100 * batch_share.least, 0, batch_share.least > 0, "%"});
      }
    }
  }
  asked.progress("E2", 1);
  out.tables = {std::move(in_time), std::move(batches)};
  out.plots = std::move(shares);
  return out;
}

}  // namespace

experiment make_e2() { return {"E2", "overload: who is served within a deadline of 10 s", run}; }

}  // namespace sluice_sim
