#include "sluice-sim/experiment.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice_sim;

TEST_CASE("the limit follows a provider that refuses, one that gets slower, and one that answers nobody") {
  settings asked;
  asked.seeds = {101, 102, 103};
  const auto what = make_e6().run(asked);
  CHECK(what.bars.size() == 18);
  for (const auto& each : what.bars) CHECK_MESSAGE(each.ok, each.text << ' ' << each.limit << ": " << each.value);
  REQUIRE(what.tables.size() == 3);
  for (const auto& each : what.tables) REQUIRE(each.rows.size() == 6);
  // When all takes equally long in vain, ours is at its least and the gradient at its most.
  const auto& dead = what.tables[2].rows;
  CHECK(dead[1].back() == "1 (1-1)");
  CHECK(dead[4].back() == "64 (64-64)");
  // With outputs of very different lengths the gradient of durations leaves much unused.
  CHECK(std::stod(what.tables[0].rows[3][6]) < 80);
  CHECK(what.plots.size() == 6);
}
