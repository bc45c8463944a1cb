#include "sluice-sim/experiment.hpp"
#include "sluice-sim/traces.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace sluice_sim;

TEST_CASE("arms that others have published come out as published, on the very traces") {
  settings asked;
  asked.traces = default_traces();
  if (!std::filesystem::exists(asked.traces / "replay" / "seed-1.csv")) {
    MESSAGE("the recorded traces are not here");
    return;
  }
  const auto what = make_e1().run(asked);
  CHECK(what.notes.size() == 1);
  int calibrated = 0;
  for (const auto& each : what.bars) {
    if (each.text.find("as published") == std::string::npos) continue;
    ++calibrated;
    CHECK_MESSAGE(each.ok, each.text << ' ' << each.limit << ": " << each.value);
  }
  CHECK(calibrated == 9);
}

TEST_CASE("generated traces give the same kind of run, without a claim about published figures") {
  settings asked;
  asked.traces = std::filesystem::temp_directory_path();
  asked.seeds = {101, 102};
  const auto what = make_e1().run(asked);
  CHECK(what.notes.size() == 3);
  CHECK(what.bars.size() == 6);
  for (const auto& each : what.bars) CHECK(each.text.find("sluice: ") == 0);
  REQUIRE(what.tables.size() == 4);
  for (const auto& each : what.tables) CHECK(each.rows.size() == 7);
  CHECK_FALSE(what.plots.empty());
}

TEST_CASE("the policy asked for is the one that decides") {
  settings asked;
  asked.traces = std::filesystem::temp_directory_path();
  asked.seeds = {101};
  asked.policy = sluice::policy({0, 0});
  const auto what = make_e1().run(asked);
  for (const auto& each : what.bars) {
    if (each.text == "sluice: interactive success >=") CHECK(each.value == 0);
  }
}
