#include "sluice-sim/experiment.hpp"
#include "sluice-sim/traces.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace sluice_sim;

TEST_CASE("overload hurts those who wait in line, and what refuses at once as others have measured") {
  settings asked;
  asked.traces = default_traces();
  if (!std::filesystem::exists(asked.traces / "replay" / "seed-1.csv")) {
    MESSAGE("the recorded traces are not here");
    return;
  }
  const auto what = make_e2().run(asked);
  int measured = 0;
  for (const auto& each : what.bars) {
    if (each.text.find("sluice") == 0) continue;
    ++measured;
    CHECK_MESSAGE(each.ok, each.text << ' ' << each.limit << ": " << each.value);
  }
  CHECK(measured == 5);
}

TEST_CASE("four levels of contention, a bar each for interactive and for batch work") {
  settings asked;
  asked.traces = std::filesystem::temp_directory_path();
  asked.seeds = {101};
  const auto what = make_e2().run(asked);
  int own = 0;
  for (const auto& each : what.bars) own += each.text.find("sluice: ") == 0 ? 1 : 0;
  CHECK(own == 8);
  REQUIRE(what.tables.size() == 2);
  for (const auto& each : what.tables) {
    CHECK(each.columns.size() == 5);
    for (const auto& row : each.rows) CHECK(row.size() == 5);
  }
}
