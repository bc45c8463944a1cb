#include "sluice-sim/decisions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice_sim;

namespace {

std::vector<sluice::sim::visit> arriving(const std::vector<sluice::duration>& when) {
  std::vector<sluice::sim::visit> visits(when.size());
  for (std::size_t i = 0; i < when.size(); ++i) {
    visits[i].number = i;
    visits[i].arrival = sluice::instant{} + when[i];
  }
  return visits;
}

const series* find(const std::vector<series>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&name](const series& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a start is told by how it came about, and counted in its time") {
  const auto all = decisions(
      "0 start 0\n"
      "500000000 refuse 1 no_room\n"
      "1200000000 start 2\n"
      "2000000000 start 1\n",
      arriving({0s, 500ms, 1s}), 1s);
  REQUIRE(all.size() == 4);
  CHECK(all[0].name == "started at once");
  CHECK(all[0].how == mark::bars);
  CHECK(all[0].points == std::vector<std::pair<double, double>>{{0, 1}, {1, 0}, {2, 0}});
  REQUIRE(find(all, "started after waiting"));
  CHECK(find(all, "started after waiting")->points[1].second == 1);
  REQUIRE(find(all, "started when it came again"));
  CHECK(find(all, "started when it came again")->points[2].second == 1);
  const series* refused = find(all, "refused: no room");
  REQUIRE(refused);
  CHECK(refused->how == mark::bars_below);
  CHECK(refused->points[0].second == 1);
}

TEST_CASE("what the provider turned away has not started; what was stopped starts after waiting") {
  const auto all = decisions(
      "0 start 0\n"
      "0 rejected 0\n"
      "250000000 start 0\n"
      "300000000 stop 0\n"
      "400000000 start 0\n"
      "500000000 hang-up 0\n",
      arriving({0s}), 1s);
  REQUIRE(find(all, "started at once"));
  CHECK(find(all, "started at once")->points[0].second == 0);
  CHECK(find(all, "started when it came again")->points[0].second == 1);
  CHECK(find(all, "started after waiting")->points[0].second == 1);
  CHECK(find(all, "answered with 429")->points[0].second == 1);
  CHECK(find(all, "preempted")->points[0].second == 1);
  CHECK(find(all, "left by its caller")->points[0].second == 1);
}

TEST_CASE("nothing decided is nothing drawn; numbers that nobody has are passed over") {
  CHECK(decisions("", arriving({}), 1s).empty());
  CHECK(decisions("0 start 7\n", arriving({0s}), 1s).empty());
}
