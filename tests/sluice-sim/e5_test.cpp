#include "sluice-sim/experiment.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice_sim;

TEST_CASE("forking buys nothing, and weights are kept to") {
  settings asked;
  asked.seeds = {101, 102};
  const auto what = make_e5().run(asked);
  REQUIRE(what.bars.size() == 3);
  for (const auto& each : what.bars) CHECK_MESSAGE(each.ok, each.text << ' ' << each.limit << ": " << each.value);
  REQUIRE(what.tables.size() == 2);
  // The run is not starved either: it has what the chats leave, and its own turn.
  for (std::size_t row = 1; row < 3; ++row) CHECK(std::stod(what.tables[0].rows[row].back()) > 60);
  for (const auto& row : what.tables[1].rows) CHECK(std::stod(row.back()) == doctest::Approx(200.0 / 3).epsilon(0.01));
  // They do come apart, so that the bound says something.
  CHECK(what.bars[2].value > 3'000);
}
