#include "sluice-sim/trial_plots.hpp"

#include <sluice/sim/arms.hpp>
#include <sluice/sim/traffic.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice_sim;

namespace {

outcome_of_trial tried(const contender& who) {
  sluice::sim::trial_rules rules;
  rules.sample_every = 1s;
  return try_out(who, sluice::sim::replay_like(1), rules);
}

contender queue() {
  contender who{"queue", [] { return sluice::sim::make_queue_arm("queue", {}); }, {}};
  who.callers.done_within = sluice::sim::caller_rules::filled(5s);
  who.callers.hang_up_at_deadline = true;
  return who;
}

contender elastic() {
  sluice::policy rules(sluice::capacity{32, 64'000});
  rules[sluice::interactive].floor = {8, 16'000};
  rules[sluice::batch].elastic.enabled = true;
  return {"elastic", [rules] { return sluice::sim::make_policy_arm("elastic", rules); }, {}};
}

std::vector<const series*> of(const std::vector<series>& all, const std::string& plot) {
  std::vector<const series*> found;
  for (const auto& each : all) {
    if (each.plot == plot) found.push_back(&each);
  }
  return found;
}

}  // namespace

TEST_CASE("each request is a dot if it was answered, and a tick if it was not") {
  const auto what = tried(queue());
  std::vector<series> plots;
  add_times(plots, "queue", what.visits);
  const auto answered = static_cast<std::size_t>(
      std::count_if(what.visits.begin(), what.visits.end(), [](const auto& each) { return each.succeeded; }));
  REQUIRE(answered > 0);
  REQUIRE(answered < what.visits.size());
  for (const char* plot : {first_token_plot, latency_plot}) {
    std::size_t dots = 0;
    std::size_t ticks = 0;
    for (const series* each : of(plots, plot)) {
      CHECK(each->panel == "queue");
      (each->how == mark::dots ? dots : ticks) += each->points.size();
      for (std::size_t i = 1; i < each->points.size(); ++i) {
        REQUIRE(each->points[i - 1].first <= each->points[i].first);
      }
    }
    CHECK(dots == answered);
    CHECK(ticks == what.visits.size() - answered);
  }
}

TEST_CASE("what is held and what is borrowed of it add up to what the arm holds") {
  const auto what = tried(elastic());
  std::vector<series> plots;
  add_levels(plots, "elastic", what);
  const auto held = of(plots, "Slots held");
  REQUIRE(held.size() == 4);
  double borrowed = 0;
  for (std::size_t i = 0; i < what.whole.samples.size(); ++i) {
    const auto& classes = what.whole.samples[i].arm.classes;
    double sum = 0;
    for (const series* each : held) sum += each->points[i].second;
    REQUIRE(sum == static_cast<double>(classes[0].held + classes[1].held));
    for (const series* each : held) borrowed += each->how == mark::hatched ? each->points[i].second : 0;
  }
  CHECK(borrowed > 0);
}

TEST_CASE("limits are drawn where they move, beside what is held") {
  std::vector<series> fixed;
  add_levels(fixed, "queue", tried(queue()));
  const char* plot = "Limits that move, and what is held";
  CHECK(of(fixed, plot).empty());
  std::vector<series> moving;
  add_levels(moving, "elastic", tried(elastic()));
  const auto limits = of(moving, plot);
  REQUIRE(limits.size() == 3);
  CHECK(limits.back()->name == "batch, its ceiling");
  CHECK(limits.back()->how == mark::limit);
  for (const auto& [x, y] : limits.back()->points) CHECK((y >= 0 && y <= 32));
}

TEST_CASE("an arm that keeps no accounts shows what the provider carries") {
  contender none{"none", [] { return sluice::sim::make_open_arm(); }, {}};
  std::vector<series> plots;
  add_levels(plots, "none", tried(none));
  const auto held = of(plots, "Slots held");
  REQUIRE(held.size() == 5);
  CHECK(held.back()->name == "at the provider, of both");
  const auto most = std::max_element(held.back()->points.begin(), held.back()->points.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  CHECK(most->second == 32);
  CHECK(of(plots, "Waiting").size() == 3);
  std::size_t rejections = 0;
  for (const series* each : of(plots, "Decisions")) {
    if (each->name != "answered with 429") continue;
    for (const auto& [x, y] : each->points) rejections += static_cast<std::size_t>(y);
  }
  std::size_t counted = 0;
  for (const auto& each : tried(none).visits) counted += each.rejections;
  CHECK(counted > 0);
  CHECK(rejections == counted);
}
