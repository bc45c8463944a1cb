#include <sluice/agent/run_scope.hpp>

#include "agent/agent_fixture.hpp"

#include <doctest/doctest.h>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using agent::run_scope;
using agent::run_settings;
using agent::test::agent_fixture;
using agent::test::started;

TEST_CASE("a root has what it was given, and defaults for the rest") {
  agent_fixture f;
  const run_scope plain = f.open();
  CHECK(plain.name() == "root");
  CHECK(plain.path() == "root");
  CHECK(plain.deadline() == never);
  CHECK(plain.working_deadline() == never);
  CHECK(plain.time_left() == duration::max());
  CHECK(plain.workload() == interactive);
  CHECK(plain.tenant() == tenant());
  CHECK(plain.remaining().tokens == unlimited);
  CHECK_FALSE(plain.cancelled());

  const instant end = f.gate.in(30s);
  const run_scope full = f.open(run_settings("nightly")
                                    .limit({.tokens = 10'000, .calls = 20, .tool_calls = 9, .money = 500})
                                    .keep_for_last_answer({.tokens = 1'000, .calls = 1}, 5s)
                                    .until(end)
                                    .as(batch)
                                    .on_behalf_of(tenant(7)));
  CHECK(full.deadline() == end);
  CHECK(full.working_deadline() == end - 5s);
  CHECK(full.time_left() == 25s);
  CHECK(full.remaining() == spending{.tokens = 9'000, .calls = 19, .tool_calls = 9, .money = 500});

  const auto ordinary = full.call_options();
  CHECK(ordinary.run == full.id());
  CHECK(ordinary.workload == batch);
  CHECK(ordinary.tenant == tenant(7));
  CHECK(ordinary.deadline == end - 5s);
  CHECK_FALSE(ordinary.finalising);
  const auto last = full.call_options(true);
  CHECK(last.deadline == end);
  CHECK(last.finalising);
}

TEST_CASE("a child inherits, and tightens what it inherits, but never widens it") {
  agent_fixture f;
  const instant end = f.gate.in(30s);
  run_scope root = f.open(run_settings("root").limit({.tokens = 1'000}).until(end).as(batch).on_behalf_of(tenant(7)));

  SUBCASE("it inherits") {
    const run_scope child = root.child(run_settings("child")).value();
    CHECK(child.path() == "root/child");
    CHECK_FALSE(child.call_options(true).finalising);
    CHECK(child.deadline() == end);
    CHECK(child.workload() == batch);
    CHECK(child.tenant() == tenant(7));
    CHECK(child.remaining().tokens == 1'000);
  }
  SUBCASE("it tightens") {
    const run_scope child =
        root.child(run_settings("child").limit({.tokens = 400}).until(end - 10s).as(interactive)).value();
    CHECK(child.deadline() == end - 10s);
    CHECK(child.workload() == interactive);
    CHECK(child.remaining().tokens == 400);
  }
  SUBCASE("it does not widen") {
    const run_scope child = root.child(run_settings("child").limit({.tokens = 5'000}).until(end + 1h)).value();
    CHECK(child.deadline() == end);
    CHECK(child.remaining().tokens == 1'000);
  }
  SUBCASE("what is kept for a last answer is not the child's") {
    const run_scope other = f.open(run_settings("other").until(end).keep_for_last_answer({}, 4s));
    run_scope parent = f.open(run_settings("parent").until(end).keep_for_last_answer({}, 4s));
    const run_scope child = parent.child(run_settings("child")).value();
    CHECK(child.deadline() == end - 4s);
  }
  SUBCASE("what is carved out is the child's alone, and what it did not spend comes back") {
    {
      run_scope child = root.child(run_settings("child").carve({.tokens = 400})).value();
      CHECK(root.remaining().tokens == 600);
      CHECK(child.remaining().tokens == 400);
      const auto more = child.extend({.tokens = 1});
      REQUIRE_FALSE(more);
      CHECK(more.error().is(errc::invalid_argument));
    }
    CHECK(root.remaining().tokens == 1'000);
    const auto dear = root.child(run_settings("dear").carve({.tokens = 1'001}));
    REQUIRE_FALSE(dear);
    CHECK(dear.error().is(errc::refused));
    CHECK(dear.error().message().find("root/dear") != std::string::npos);
  }
}

TEST_CASE("settings that do not hold are named") {
  agent_fixture f;
  const auto refused = [&](run_settings how, errc code, const std::string& word) {
    const auto opened = run_scope::open(f.gate, std::move(how));
    REQUIRE_FALSE(opened);
    CHECK(opened.error().is(code));
    CHECK_MESSAGE(opened.error().message().find(word) != std::string::npos, opened.error().message());
  };
  run_settings narrow("r");
  narrow.width = -1;
  refused(narrow, errc::invalid_argument, "width");
  run_settings hasty("r");
  hasty.grace = -1s;
  refused(hasty, errc::invalid_argument, "grace");
  refused(run_settings("r").keep_for_last_answer({}, -1s), errc::invalid_argument, "finalise_time");
  refused(run_settings("r").limit({.tokens = -1}), errc::invalid_argument, "limit");
  refused(run_settings("r").limit({.tokens = 10}).keep_for_last_answer({.tokens = 11}), errc::invalid_argument,
          "reserve");
  refused(run_settings("r").until(f.gate.now()), errc::deadline_exceeded, "has passed already");
  refused(
      run_settings("r").until(f.gate.in(1s)).keep_for_last_answer({}, 5s), errc::deadline_exceeded,
      "run r: its deadline is in 1.0 s, all of which is kept for the last answer (finalise_time = 5 s); keep less, or "
      "give it more time");
  refused(run_settings("r").until(f.gate.in(3s)).keep_for_last_answer({}, 3s), errc::deadline_exceeded, "deadline");
  refused(run_settings("r").until(instant::min()).keep_for_last_answer({}, 5s), errc::deadline_exceeded, "deadline");
  refused(run_settings("r").until(instant{} - 1h).keep_for_last_answer({}, duration::max()), errc::deadline_exceeded,
          "deadline");

  run_scope root = f.open();
  const auto reserved = root.child(run_settings("child").keep_for_last_answer({.tokens = 1}));
  REQUIRE_FALSE(reserved);
  CHECK(reserved.error().is(errc::invalid_argument));
}

TEST_CASE("charges are spent by all that pay, or by nobody, and the one that cannot is named") {
  agent_fixture f;
  run_scope root = f.open(run_settings("root").limit({.tool_calls = 3, .money = 100}));
  run_scope child = root.child(run_settings("child").limit({.tool_calls = 9})).value();
  CHECK(child.charge({.tool_calls = 2, .money = 60}));
  CHECK(root.balance().spent == spending{.tool_calls = 2, .money = 60});
  CHECK(child.remaining().tool_calls == 1);

  const auto dear = child.charge({.tool_calls = 1, .money = 41});
  REQUIRE_FALSE(dear);
  CHECK(dear.error().is(errc::refused));
  CHECK_MESSAGE(dear.error().message().find("run root") != std::string::npos, dear.error().message());
  CHECK_MESSAGE(dear.error().message().find("40") != std::string::npos, dear.error().message());
  CHECK(root.balance().spent == spending{.tool_calls = 2, .money = 60});
  CHECK(child.balance().spent == spending{.tool_calls = 2, .money = 60});

  CHECK(root.extend({.money = 1}));
  CHECK(child.charge({.tool_calls = 1, .money = 41}));
  CHECK_FALSE(child.charge({.tool_calls = 1}));
  const auto negative = root.charge({.money = -1});
  REQUIRE_FALSE(negative);
  CHECK(negative.error().is(errc::invalid_argument));
}

TEST_CASE("a budget of zero opens, and pays for nothing") {
  agent_fixture f;
  run_scope root = f.open(run_settings("root").limit({.tokens = 0, .calls = 0, .tool_calls = 0, .money = 0}));
  CHECK(root.remaining() == spending{});
  const auto charged = root.charge({.tool_calls = 1});
  REQUIRE_FALSE(charged);
  CHECK(charged.error().is(errc::refused));
  const auto admitted = f.gate.try_admit({.tokens = 1}, interactive, {.run = root.id()});
  REQUIRE_FALSE(admitted);
  CHECK(admitted.error().reason() == reason::budget_exhausted);
}

TEST_CASE("thresholds are told, each once, on the gate's executor") {
  agent_fixture f;
  std::vector<std::uint32_t> told;
  run_settings how("root");
  how.limit({.tool_calls = 10});
  how.on_threshold = [&](std::uint32_t percent) { told.push_back(percent); };
  run_scope root = f.open(std::move(how));
  run_scope child = root.child().value();
  CHECK(child.charge({.tool_calls = 5}));
  CHECK(told.empty());
  f.run();
  CHECK(told == std::vector<std::uint32_t>{50});
  CHECK(child.charge({.tool_calls = 5}));
  f.run();
  CHECK(told == std::vector<std::uint32_t>{50, 80, 95, 100});
  CHECK(root.balance().crossed == 100);
}

TEST_CASE("a closed or cancelled run opens nothing and pays for nothing") {
  agent_fixture f;
  run_scope root = f.open();
  run_scope child = root.child(run_settings("child")).value();
  run_scope grandchild = child.child(run_settings("grandchild")).value();

  SUBCASE("cancelled") {
    child.cancel();
    CHECK(child.cancelled());
    CHECK(grandchild.cancelled());
    CHECK_FALSE(root.cancelled());
    CHECK(child.balance().limit.tokens == unlimited);
    CHECK(child.remaining() == spending{});
    CHECK(grandchild.remaining() == spending{});
    const auto admitted = f.gate.try_admit({.tokens = 1}, interactive, {.run = grandchild.id()});
    REQUIRE_FALSE(admitted);
    CHECK(admitted.error().reason() == reason::unknown_run);
    for (run_scope* each : {&child, &grandchild}) {
      const auto extended = each->extend({.tokens = 1});
      REQUIRE_FALSE(extended);
      CHECK(extended.error().is(errc::invalid_argument));
    }
  }
  SUBCASE("closed") {
    { const run_scope gone = std::move(child); }
    CHECK(grandchild.cancelled());
    CHECK_FALSE(f.gate.try_admit({.tokens = 1}, interactive, {.run = grandchild.id()}));
  }
  const auto opened = grandchild.child(run_settings("late"));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().is(errc::cancelled));
  CHECK(opened.error().message().find("root/child/grandchild") != std::string::npos);
  const auto charged = grandchild.charge({.tool_calls = 1});
  REQUIRE_FALSE(charged);
  CHECK(charged.error().is(errc::cancelled));
  CHECK(root.child(run_settings("sibling")));
}

TEST_CASE("runs nest 64 deep, and no deeper") {
  agent_fixture f;
  std::vector<run_scope> chain;
  chain.push_back(f.open(run_settings("r")));
  for (;;) {
    auto next = chain.back().child(run_settings("r"));
    if (!next) {
      CHECK(next.error().is(errc::invalid_argument));
      break;
    }
    chain.push_back(*std::move(next));
    REQUIRE(chain.size() < 100);
  }
  CHECK(chain.size() == 64);
  CHECK(f.gate.statistics().runs == 64);
  while (!chain.empty()) chain.pop_back();
  CHECK(f.gate.statistics().runs == 0);
}

TEST_CASE("a scope in a coroutine that is dropped with its context may outlive its gate") {
  // As in a program whose gate is declared after its context.
  testing::manual_time_source time;
  asio::io_context loop(1);
  bulkhead gate(loop.get_executor(), policy({.slots = 1, .tokens = 100}), time);
  const auto waits = [&]() -> asio::awaitable<void> {
    const run_scope root = run_scope::open(gate).value();
    auto held = co_await gate.admit({.tokens = 100}, interactive, {.run = root.id()});
    auto never_comes = co_await gate.admit({.tokens = 100});
  };
  asio::co_spawn(loop, waits(), asio::detached);
  loop.poll();
  CHECK(gate.statistics().runs == 1);
  CHECK(gate.statistics().all.waiting == 1);
}

TEST_CASE("what was spent can be asked for after the end, and who waits to pay is turned away by a cancellation") {
  agent_fixture f(policy({.slots = 1, .tokens = 1'000}));
  run_scope root = f.open(run_settings("root").limit({.tokens = 500}));
  auto held = f.gate.try_admit({.tokens = 200}, interactive, {.run = root.id()});
  REQUIRE(held);
  CHECK(held->settle({.input_tokens = 120, .output_tokens = 30}));
  auto other = f.gate.try_admit({.tokens = 10});
  REQUIRE(other);
  started<expected<permit, rejection>> waits;
  f.start(waits, f.gate.admit({.tokens = 100}, interactive, {.run = root.id()}));
  CHECK_FALSE(waits.ended);
  root.cancel();
  f.run();
  REQUIRE(waits.value);
  REQUIRE_FALSE(*waits.value);
  CHECK(waits.value->error().reason() == reason::unknown_run);
  CHECK(root.balance().spent == spending{.tokens = 150, .calls = 1});
  // What is still ending could be paid, until it is left.
  CHECK(f.gate.statistics().runs == 1);
  started<agent::leave_result> left;
  f.start(left, root.leave());
  CHECK(left.ended);
  CHECK(root.balance().spent == spending{.tokens = 150, .calls = 1});
  CHECK(f.gate.statistics().runs == 0);
}
