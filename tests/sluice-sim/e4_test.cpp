#include "sluice-sim/experiment.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace sluice_sim;

TEST_CASE("the least sunk work is stopped, at less than half of the waste, and all work ends") {
  settings asked;
  // Nothing is there: the prompts are generated.
  asked.traces = std::filesystem::temp_directory_path() / "nothing-here";
  asked.seeds = {101, 102};
  const auto what = make_e4().run(asked);
  REQUIRE(what.bars.size() == 5);
  for (const auto& each : what.bars) CHECK_MESSAGE(each.ok, each.text << ' ' << each.limit << ": " << each.value);
  CHECK(what.bars[2].value > 0.1);

  REQUIRE(what.tables.size() == 3);
  for (const auto& each : what.tables) {
    REQUIRE(each.rows.size() == 4);
    const auto cell = [&each](std::size_t row, std::size_t column) { return std::stod(each.rows[row][column]); };
    // Ours, the newest, one at random, none: of each preemption the waste grows in this order.
    CHECK(cell(0, 4) < cell(1, 4));
    CHECK(cell(1, 4) < cell(2, 4));
    CHECK(each.rows[3][4] == "-");
    CHECK(cell(3, 3) == 0);
    // Who stops nobody makes chats wait.
    CHECK(cell(3, 1) > 1.4 * cell(0, 1));
    for (std::size_t row = 0; row < 4; ++row) {
      CHECK(cell(row, 8) <= 2);
      CHECK(each.rows[row].back() == "100.0");
    }
  }
  CHECK(what.plots.size() == 4);
}
