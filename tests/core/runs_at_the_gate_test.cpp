// Runs at the gate: who waits for one to be able to pay, when that is over, and whose turn a run is in.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

run_options of_tokens(std::int64_t limit, run_funding funding = run_funding::share) {
  run_options made;
  made.limit.tokens = limit;
  made.funding = funding;
  return made;
}

}  // namespace

TEST_CASE("what a carved run did not spend is there for others when its last work ends after it was closed") {
  logged_gate gate(bare({10, 1'000}));
  CHECK(gate.open_run("root", of_tokens(100)) == "-");
  CHECK(gate.open_run("part", of_tokens(80, run_funding::carve), "root") == "-");
  CHECK(gate.arrive("last", {.tokens = 10}, interactive, {.run = "part"}) ==
        "budget at 50 %, budget at 80 %, granted last");
  CHECK(gate.arrive("waits", {.tokens = 60}, interactive, {.run = "root"}) == "-");
  CHECK(gate.close_run("part") == "stop last");
  CHECK(gate.finish("last", usage{10, 0}) == "granted waits");
}

TEST_CASE("what a carved run did not spend is there for others when it is closed below a closed run") {
  logged_gate gate(bare({10, 1'000}));
  CHECK(gate.open_run("root", of_tokens(100)) == "-");
  CHECK(gate.open_run("middle", {}, "root") == "-");
  CHECK(gate.open_run("part", of_tokens(80, run_funding::carve), "middle") == "-");
  CHECK(gate.arrive("waits", {.tokens = 60}, interactive, {.run = "root"}) == "budget at 50 %, budget at 80 %");
  CHECK(gate.close_run("middle") == "-");
  CHECK(gate.close_run("part") == "granted waits");
  CHECK(gate.close_run("part") == "not open");
}

TEST_CASE("a task that has started goes before a fresh one, and one that only waits is fresh") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.open_run("fresh", {}) == "-");
  CHECK(gate.open_run("begun", {}) == "-");
  CHECK(gate.arrive("first of begun", {}, interactive, {.run = "begun"}) == "granted first of begun");
  CHECK(gate.arrive("single", {}) == "-");
  CHECK(gate.arrive("one of fresh", {}, interactive, {.run = "fresh"}) == "-");
  CHECK(gate.arrive("two of fresh", {}, interactive, {.run = "fresh"}) == "-");
  // By the age of the root run: it is older than the single one.
  CHECK(gate.finish("first of begun") == "granted one of fresh");
  CHECK(gate.arrive("second of begun", {}, interactive, {.run = "begun"}) == "-");
  CHECK(gate.finish("one of fresh") == "granted second of begun");
  CHECK(gate.finish("second of begun") == "granted single");
  CHECK(gate.finish("single") == "granted two of fresh");
}

TEST_CASE("forking into children and grandchildren buys a run nothing: they share the turn of its root") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.open_run("wide", {}) == "-");
  CHECK(gate.open_run("plain", {}) == "-");
  CHECK(gate.arrive("holds", {}) == "granted holds");
  std::string holder = "holds";
  for (const char* child : {"a", "b", "c"}) {
    const std::string name(child);
    CHECK(gate.open_run(name, {}, "wide") == "-");
    CHECK(gate.open_run(name + name, {.funding = run_funding::carve}, name) == "-");
    CHECK(gate.arrive("wide " + name, {}, interactive, {.run = name}) == "-");
    CHECK(gate.arrive("wide " + name + name, {}, interactive, {.run = name + name}) == "-");
  }
  for (const char* step : {"1", "2", "3"})
    CHECK(gate.arrive("plain " + std::string(step), {}, interactive, {.run = "plain"}) == "-");
  CHECK(gate.arrive("single", {}) == "-");
  for (const char* next :
       {"wide a", "plain 1", "single", "wide aa", "plain 2", "wide b", "plain 3", "wide bb", "wide c", "wide cc"}) {
    CHECK(gate.finish(holder) == "granted " + std::string(next));
    holder = next;
  }
}

TEST_CASE("a run that has spent goes before a fresh one at each of its steps, but only in its class") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.open_run("begun", {}) == "-");
  CHECK(gate.open_run("nested", {}, "begun") == "-");
  CHECK(gate.arrive("begun 1", {}, interactive, {.run = "begun"}) == "granted begun 1");
  for (const char* fresh : {"x", "y"}) {
    CHECK(gate.open_run(fresh, {}) == "-");
    CHECK(gate.arrive(fresh, {}, interactive, {.run = fresh}) == "-");
  }
  CHECK(gate.finish("begun 1") == "granted x");
  // What a child has started counts for the whole task, and the other way round.
  CHECK(gate.arrive("begun 2", {}, interactive, {.run = "nested"}) == "-");
  CHECK(gate.finish("x") == "granted begun 2");
  CHECK(gate.finish("begun 2") == "granted y");
  CHECK(gate.arrive("begun 3", {}, batch, {.run = "begun"}) == "-");
  CHECK(gate.arrive("z", {}) == "-");
  CHECK(gate.finish("y") == "granted z");
  CHECK(gate.finish("z") == "granted begun 3");
}

TEST_CASE("time does not pass when a run is opened or in vain extended, for nobody could be told") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.arrive("holds", {}) == "granted holds");
  CHECK(gate.arrive("waits", {}, interactive, {.deadline = instant{} + 1s}) == "-");
  gate.now += 2s;
  CHECK(gate.open_run("run", of_tokens(1)) == "-");
  CHECK(gate.machine.broken_invariant().value_or("") == "");
  CHECK(gate.extend_run("run", {.tokens = -1}).find("negative") != std::string::npos);
  CHECK(gate.machine.broken_invariant().value_or("") == "");
  CHECK(gate.tick() == "rejected waits (deadline_in_queue)");
}

TEST_CASE("one who waits for its run lets those be served for whom the time has come") {
  auto rules = bare({10, 1'000});
  rules.rates.requests = {60, 1};
  logged_gate gate(rules);
  CHECK(gate.open_run("run", of_tokens(10)) == "-");
  CHECK(gate.arrive("spends", {.tokens = 10}, interactive, {.run = "run"}) ==
        "granted spends, budget at 50 %, budget at 80 %, budget at 95 %, budget at 100 %");
  CHECK(gate.arrive("waits", {}) == "-");
  gate.now += 1s;
  CHECK(gate.arrive("cannot pay", {.tokens = 10}, interactive, {.run = "run"}) == "granted waits");
}
