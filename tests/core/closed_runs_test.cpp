// What a run has under way when it is closed: what waits is refused, and what runs is to be stopped.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

run_options of_tokens(std::int64_t limit) {
  run_options made;
  made.limit.tokens = limit;
  return made;
}

}  // namespace

TEST_CASE("what runs in a closed run, and below it, is to be stopped; what runs above and beside it goes on") {
  logged_gate gate(bare({10, 1'000}));
  CHECK(gate.open_run("root", {}) == "-");
  CHECK(gate.open_run("left", {}, "root") == "-");
  CHECK(gate.open_run("leaf", {}, "left") == "-");
  CHECK(gate.open_run("right", {}, "root") == "-");
  CHECK(gate.open_run("stranger", {}) == "-");
  for (const char* run : {"root", "left", "leaf", "right", "stranger"}) {
    CHECK(gate.arrive(std::string("of ") + run, {.tokens = 10}, interactive, {.run = run}) ==
          std::string("granted of ") + run);
  }
  CHECK(gate.arrive("single", {.tokens = 10}) == "granted single");

  CHECK(gate.close_run("left") == "stop of leaf, stop of left");
  CHECK(gate.machine.in_closed_run(gate.id("of left")));
  CHECK(gate.machine.in_closed_run(gate.id("of leaf")));
  CHECK_FALSE(gate.machine.in_closed_run(gate.id("of root")));
  CHECK_FALSE(gate.machine.in_closed_run(gate.id("of right")));
  CHECK_FALSE(gate.machine.in_closed_run(gate.id("single")));
  // They were told already, and are told again: which of both closings they are stopped for is all the same.
  CHECK(gate.close_run("root") == "stop of right, stop of leaf, stop of left, stop of root");
  CHECK(gate.all().in_flight == 6);
}

TEST_CASE("work of a closed run ends as usual, and is paid") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.open_run("root", of_tokens(500)) == "-");
  CHECK(gate.open_run("child", {}, "root") == "-");
  CHECK(gate.arrive("a", {.tokens = 100}, interactive, {.run = "child"}) == "granted a");
  CHECK(gate.arrive("next", {.tokens = 100}) == "-");
  CHECK(gate.close_run("child") == "stop a");
  CHECK(gate.finish("a", usage{30, 5}, ending::abandoned) == "granted next");
  CHECK(gate.balance("root").spent.tokens == 35);
  CHECK(gate.balance("root").reserved.tokens == 0);
  CHECK(gate.of(interactive).preempted_total == 0);
}

TEST_CASE("work that is in no run, and is not preemptible, need not be ready to stop") {
  logged_gate gate(bare({3, 1'000}));
  CHECK(gate.open_run("root", {}) == "-");
  CHECK(gate.arrive("plain", {.tokens = 10}) == "granted plain");
  CHECK(gate.arrive("in a run", {.tokens = 10}, interactive, {.run = "root"}) == "granted in a run");
  CHECK_FALSE(gate.machine.could_be_stopped(gate.id("plain")));
  CHECK(gate.machine.could_be_stopped(gate.id("in a run")));
  CHECK_FALSE(gate.machine.could_be_preempted(gate.id("in a run")));
  const request_id gone = gate.id("in a run");
  CHECK(gate.finish("in a run") == "-");
  CHECK_FALSE(gate.machine.could_be_stopped(gone));
  CHECK_FALSE(gate.machine.in_closed_run(gone));
}

TEST_CASE("a rejection that ends others of the closed run leaves nobody out and names nobody twice") {
  logged_gate gate(bare({1, 10'000}));
  CHECK(gate.open_run("root", of_tokens(100)) == "-");
  CHECK(gate.open_run("child", {}, "root") == "-");
  CHECK(gate.arrive("runs", {.tokens = 10}) == "granted runs");
  // The first is paid, and waits for the slot; the others wait for what it may give back.
  CHECK(gate.arrive("paid", {.tokens = 90}, interactive, {.run = "child"}) == "budget at 50 %, budget at 80 %");
  for (const char* name : {"b", "c", "d"})
    CHECK(gate.arrive(name, {.tokens = 60}, interactive, {.run = "child"}) == "-");
  const std::string said = gate.close_run("child");
  for (const char* name : {"paid", "b", "c", "d"}) {
    const std::string words = std::string("rejected ") + name + " (";
    CHECK_MESSAGE(said.find(words) != said.npos, said);
    CHECK_MESSAGE(said.find(words, said.find(words) + 1) == said.npos, said);
  }
  CHECK(gate.machine.waiting() == 0);
  CHECK(gate.balance("root").reserved == spending{});
}

TEST_CASE("what runs only because the policy observes is not stopped with its run") {
  policy rules = bare({1, 1'000});
  rules.observe = true;
  logged_gate gate(rules);
  CHECK(gate.open_run("root", of_tokens(100)) == "-");
  CHECK(gate.arrive("fits", {.tokens = 50}, interactive, {.run = "root"}) == "granted fits, budget at 50 %");
  CHECK(gate.arrive("observed", {.tokens = 500}, interactive, {.run = "root"}) == "granted observed");
  CHECK(gate.close_run("root") == "stop fits");
  CHECK(gate.finish("fits") == "-");
  CHECK(gate.finish("observed") == "-");
}

TEST_CASE("a request that comes again is in its run again") {
  logged_gate gate(bare({2, 1'000}));
  CHECK(gate.open_run("root", {}) == "-");
  CHECK(gate.arrive("first", {.tokens = 10}, interactive, {.run = "root"}) == "granted first");
  const age kept = gate.age_of("first");
  CHECK(gate.finish("first", {}, ending::abandoned) == "-");
  CHECK(gate.arrive("again", {.tokens = 10}, interactive, {.age = kept, .run = "root"}) == "granted again");
  CHECK(gate.close_run("root") == "stop again");
}

TEST_CASE("a closed run that is held tells what was paid for what was ending, until it is let go of") {
  logged_gate gate(bare({2, 1'000}));
  CHECK(gate.open_run("root", {}) == "-");
  CHECK(gate.open_run("child", of_tokens(400), "root") == "-");
  CHECK(gate.arrive("a", {.tokens = 100}, interactive, {.run = "child"}) == "granted a");
  CHECK(gate.close_run("child", true) == "stop a");
  CHECK(gate.balance("child").reserved.tokens == 100);
  CHECK(gate.arrive("late", {.tokens = 10}, interactive, {.run = "child"}) == "rejected late (unknown_run)");
  CHECK(gate.finish("a", usage{30, 5}, ending::abandoned) == "-");
  CHECK(gate.balance("child").spent.tokens == 35);
  CHECK(gate.balance("child").reserved.tokens == 0);
  // Held already.
  CHECK(gate.close_run("child", true) == "not open");
  CHECK(gate.close_run("child") == "-");
  CHECK(gate.close_run("child") == "not open");
  CHECK(gate.balance("root").spent.tokens == 35);
}

TEST_CASE("what a carved run did not spend goes back when it is let go of, and then serves who waits for it") {
  logged_gate gate(bare({10, 1'000}));
  run_options part = of_tokens(80);
  part.funding = run_funding::carve;
  CHECK(gate.open_run("root", of_tokens(100)) == "-");
  CHECK(gate.open_run("part", part, "root") == "-");
  CHECK(gate.arrive("waits", {.tokens = 60}, interactive, {.run = "root"}) == "budget at 50 %, budget at 80 %");
  CHECK(gate.close_run("part", true) == "-");
  CHECK(gate.machine.waiting() == 1);
  CHECK(gate.close_run("part") == "granted waits");
}
