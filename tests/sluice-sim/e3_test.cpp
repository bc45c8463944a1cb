#include "sluice-sim/experiment.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice_sim;

TEST_CASE("an idle floor is lent, and is whole again within its time on a seed of its own") {
  settings asked;
  asked.seeds = {101};
  const auto what = make_e3().run(asked);
  REQUIRE(what.bars.size() == 3);
  for (const auto& each : what.bars) CHECK_MESSAGE(each.ok, each.text << ' ' << each.limit << ": " << each.value);
  // Two seconds and an abort, to the nanosecond: stopped when the time is up, and not before.
  CHECK(what.bars[2].value == doctest::Approx(2.05).epsilon(1e-9));
  CHECK(what.bars[0].value > 16);
  CHECK(what.bars[0].value < 19);

  REQUIRE(what.tables.size() == 2);
  const auto& restored = what.tables[1];
  REQUIRE(restored.rows.size() == 5);
  const auto longest = [&restored](std::size_t row) { return std::stod(restored.rows[row][4]); };
  CHECK(longest(0) > 4);
  CHECK(restored.rows[0].back() == "0.0");
  CHECK(longest(0) > longest(1));
  CHECK(longest(3) > longest(4));
  CHECK(std::stod(restored.rows[1].back()) > 1);
}

TEST_CASE("the same seed gives the same figures and plots") {
  settings asked;
  asked.seeds = {7};
  const auto once = make_e3().run(asked);
  const auto again = make_e3().run(asked);
  for (std::size_t n = 0; n < once.tables.size(); ++n) CHECK(once.tables[n].rows == again.tables[n].rows);
  REQUIRE(once.plots.size() == again.plots.size());
  CHECK(once.plots.size() == 6);
  for (std::size_t n = 0; n < once.plots.size(); ++n) {
    CHECK(once.plots[n].points.size() > 100);
    CHECK(once.plots[n].points == again.plots[n].points);
  }
}
