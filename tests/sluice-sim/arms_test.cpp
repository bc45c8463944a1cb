#include "sluice-sim/arms.hpp"

#include <sluice/sim/arms.hpp>
#include <sluice/sim/traffic.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice_sim;

TEST_CASE("figures over seeds are written with their range, if they have one") {
  CHECK(percent({0.951, 0.93, 0.962}) == "95.1 (93.0-96.2)");
  CHECK(percent({1, 1, 1}) == "100.0");
  CHECK(seconds({10.4, 10.4, 10.4}) == "10.40");
  CHECK(seconds({1.5, 1, 2}) == "1.50 (1.00-2.00)");
  CHECK(count({617, 585, 720}) == "617 (585-720)");
  CHECK(seconds({std::nan(""), std::nan(""), std::nan("")}) == "-");
}

TEST_CASE("a figure of a set of summaries") {
  std::vector<sluice::sim::summary> seeds(3);
  seeds[0].success = 0.5;
  seeds[1].success = 0.9;
  seeds[2].success = 0.7;
  const auto figure = over(seeds, [](const auto& each) { return each.success; });
  CHECK(figure.median == 0.7);
  CHECK(figure.least == 0.5);
  CHECK(figure.most == 0.9);
}

TEST_CASE("a contender is tried with its own callers; what was decided is kept if the trial is sampled") {
  contender who{"queue", [] { return sluice::sim::make_queue_arm("queue", {}); }, {}};
  who.callers.done_within = sluice::sim::caller_rules::filled(5s);
  who.callers.hang_up_at_deadline = true;
  const auto trace = sluice::sim::replay_like(1);
  sluice::sim::trial_rules rules;
  CHECK(try_out(who, trace, rules).log.empty());
  rules.sample_every = 1s;
  const auto what = try_out(who, trace, rules);
  REQUIRE(what.visits.size() == trace.size());
  for (const auto& each : what.visits) CHECK(each.latency() <= 5s);
  CHECK(what.whole.samples.size() > 40);
  CHECK(what.log.find(" start 0\n") != std::string::npos);
}
