#include <sluice/agent/run_result.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using sluice::agent::run_outcome;
using sluice::agent::run_stop;

TEST_CASE("outcomes and stops have names of their own") {
  std::set<std::string> names;
  for (const run_outcome each : {run_outcome::complete, run_outcome::partial, run_outcome::budget_exhausted}) {
    names.emplace(to_string(each));
  }
  for (const run_stop each : {run_stop::answer, run_stop::turns, run_stop::budget, run_stop::deadline,
                              run_stop::cut_off, run_stop::failed, run_stop::cancelled}) {
    names.emplace(to_string(each));
  }
  CHECK(names.size() == 10);
  CHECK_FALSE(names.contains("unknown"));
  CHECK(to_string(run_outcome::budget_exhausted) == "budget_exhausted");
  CHECK(to_string(run_stop::cut_off) == "cut_off");
}

TEST_CASE("a result that nobody has filled in is no success") {
  const sluice::agent::run_result empty;
  CHECK(empty.outcome == run_outcome::partial);
  CHECK(empty.stop == run_stop::failed);
}
