#include <sluice/agent/task_group.hpp>

#include "agent/groups/group_fixture.hpp"

#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/sleep.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// `group_wait::verdict`: the result is there when the verdict stands, and tasks that have not stopped end behind it.

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

namespace {

using ended_group = started<group_result<std::string>>;

group_options at_once(group_rule rule, std::size_t quorum = 1) {
  return {.rule = rule, .quorum = quorum, .wait_for = group_wait::verdict};
}

}  // namespace

TEST_CASE("a sibling that ignores cancellation does not keep the first failure from being reported") {
  group_fixture all;
  run_scope root = all.open();
  ended_group end;
  run_scope* own = nullptr;
  duration deaf_for{};
  std::size_t abandoned = 0;
  SUBCASE("and stops in the end") { deaf_for = 4s; }
  SUBCASE("and does not stop within the run's grace") {
    deaf_for = 60s;
    abandoned = 1;
  }
  {
    group tasks(root, at_once(group_rule::fail_fast));
    tasks.start([&all, &own, deaf_for](run_scope& in) {
      own = &in;
      return all.stubborn("deaf", deaf_for);
    });
    tasks.start(all.good("kind", 9s));
    tasks.start(all.bad("b", 1s));
    all.start(end, tasks.wait());
    all.advance(1s - 1ns);
    CHECK_FALSE(end.ended);
    all.advance(1ns);
    // Not a millisecond later.
    REQUIRE(end.value);
  }
  CHECK(line(*end.value) == "- - !b");
  CHECK(end.value->verdict.error() == error(errc::provider_failed, "b"));
  CHECK(end.value->outcomes[0].error().message() ==
        "run root/task: cancelled, since another task of its group had failed; it had not stopped yet");
  CHECK(end.value->counts == group_counts{.failed = 1, .cancelled = 2, .stopping = 2});
  // The one that hears of it stops at once; the other runs on, but can start and pay for nothing any more.
  CHECK(all.alive == 1);
  REQUIRE(own != nullptr);
  CHECK(own->cancelled());
  CHECK_FALSE(own->charge({.calls = 1}));
  CHECK_FALSE(own->child());
  // The run is open as before, and knows of it.
  CHECK(root.charge({.calls = 1}));
  started<leave_result> left;
  all.start(left, root.leave());
  all.advance(3s - 1ns);
  CHECK_FALSE(left.ended);
  all.advance(1ns);
  CHECK(left.ended == (abandoned == 0));
  all.advance(2s);
  REQUIRE(left.value);
  CHECK(left.value->abandoned == abandoned);
  CHECK(static_cast<std::size_t>(all.alive) == abandoned);
  all.advance(60s);
  CHECK(all.alive == 0);
}

TEST_CASE("a quorum that is met, and one that is out of reach") {
  group_fixture all;
  run_scope root = all.open();
  ended_group end;
  group tasks(root, at_once(group_rule::quorum, 2));
  tasks.start(all.good("a", 1s));
  tasks.start(all.deaf("deaf", 4s));
  SUBCASE("met") {
    tasks.start(all.good("c", 2s));
    all.start(end, tasks.wait());
    all.advance(1s);
    CHECK_FALSE(end.ended);
    all.advance(1s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "a - c");
    CHECK(end.value->verdict);
    CHECK(end.value->outcomes[1].error().message() ==
          "run root/task: cancelled, since the group had its quorum of 2; it had not stopped yet");
    CHECK(end.value->counts == group_counts{.succeeded = 2, .cancelled = 1, .stopping = 1});
  }
  SUBCASE("out of reach") {
    tasks.start(all.bad("c", 1s));
    tasks.start(all.bad("d", 2s));
    tasks.start(all.deaf("deaf too", 4s));
    tasks.start(all.bad("f", 2s));
    tasks.start(all.bad("g", 2s));
    tasks.cancel();
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict.error() == error(errc::cancelled, "run root: the group was cancelled"));
  }
  SUBCASE("out of reach, with a failure") {
    group few(root, at_once(group_rule::quorum, 2));
    few.start(all.deaf("deaf too", 4s));
    few.start(all.bad("no", 2s));
    all.start(end, few.wait());
    all.advance(2s - 1ns);
    CHECK_FALSE(end.ended);
    all.advance(1ns);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "- !no");
    CHECK(end.value->verdict.error() ==
          error(errc::provider_failed, "run root: 0 of 2 tasks succeeded, 2 were needed; the first failure: no"));
    CHECK(end.value->counts == group_counts{.failed = 1, .cancelled = 1, .stopping = 1});
  }
  started<leave_result> left;
  all.start(left, root.leave());
  all.advance(4s);
  REQUIRE(left.value);
  CHECK(left.value->abandoned == 0);
  CHECK(all.alive == 0);
}

TEST_CASE("collect waits for every task, but not for what they have left behind or what was replaced") {
  group_fixture all;
  run_scope root = all.open();
  ended_group end;
  group tasks(root, at_once(group_rule::collect));
  tasks.start_latest("k", all.deaf("first", 5s));
  all.run();
  tasks.start_latest("k", all.good("second", 1s));
  tasks.start([&all](run_scope& own) -> asio::awaitable<gave> {
    group stray(own);
    stray.start(all.deaf("stray", 5s));
    co_return "left";
  });
  tasks.start(all.bad("c", 1s));
  tasks.start(all.deaf("deaf", 2s));
  all.start(end, tasks.wait());
  all.advance(2s - 1ns);
  CHECK_FALSE(end.ended);
  all.advance(1ns);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "second left !c deaf");
  CHECK(end.value->verdict);
  CHECK(end.value->counts == group_counts{.succeeded = 3, .failed = 1, .cancelled = 1, .replaced = 1, .stopping = 1});
  CHECK(all.alive == 2);
  started<leave_result> left;
  all.start(left, root.leave());
  all.advance(3s);
  REQUIRE(left.value);
  CHECK(left.value->abandoned == 0);
  CHECK(all.alive == 0);
}

TEST_CASE("the caller, the owner, the run and the deadline end it at once as well") {
  group_fixture all;
  run_scope root = all.open(run_settings("root").until(all.gate.in(10s)));
  ended_group end;
  started<leave_result> left;
  group tasks(root, at_once(group_rule::collect));
  tasks.start(all.good("a", 1s));
  tasks.start(all.deaf("deaf", 60s));
  all.start(end, tasks.wait());
  all.advance(1s);
  errc why = errc::cancelled;
  bool leaves = false;
  SUBCASE("the caller") { end.cancel.emit(asio::cancellation_type::terminal); }
  SUBCASE("the owner") { tasks.cancel(); }
  SUBCASE("the run") { root.cancel(); }
  SUBCASE("leaving the run") {
    leaves = true;
    all.start(left, root.leave());
  }
  SUBCASE("the deadline") {
    why = errc::deadline_exceeded;
    all.advance(9s);
  }
  all.run();
  REQUIRE(end.value);
  CHECK(line(*end.value) == "a -");
  CHECK(end.value->verdict.error().is(why));
  CHECK(end.value->counts == group_counts{.succeeded = 1, .cancelled = 1, .stopping = 1});
  CHECK(all.alive == 1);
  if (!leaves) all.start(left, root.leave());
  CHECK_FALSE(left.ended);
  all.advance(5s);
  REQUIRE(left.value);
  CHECK(left.value->abandoned == 1);
  all.advance(60s);
  CHECK(all.alive == 0);
}

TEST_CASE("decided before it is waited for; then waited for, started, polled and cancelled again") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root, at_once(group_rule::fail_fast));
  tasks.start_latest("k", all.good("polled"));
  tasks.start(all.deaf("deaf", 4s));
  tasks.start(all.bad("b"));
  all.run();
  ended_group end;
  all.start(end, tasks.wait());
  REQUIRE(end.value);
  CHECK(line(*end.value) == "polled - !b");
  ended_group again;
  all.start(again, tasks.wait());
  REQUIRE(again.value);
  CHECK(again.value->verdict.error() == error(errc::invalid_argument, "the group was waited for already"));
  tasks.start(all.good("late"));
  tasks.start_latest("k", all.good("late"));
  tasks.cancel();
  all.run();
  CHECK_FALSE(tasks.poll("k"));
  CHECK(all.begun == std::vector<std::string>{"polled", "deaf", "b"});
  // What the deaf one gives is dropped.
  all.advance(4s);
  CHECK(all.alive == 0);
}

TEST_CASE("within a run: the body has its result at once, and the run is left when the sibling has stopped") {
  group_fixture all;
  run_scope root = all.open();
  std::optional<instant> known;
  const instant began = all.time.now();
  const auto body = [&](run_scope& own) -> asio::awaitable<gave> {
    std::vector<task> list;
    list.push_back(all.deaf("deaf", 3s));
    list.push_back(all.bad("no", 1s));
    auto got = co_await gather<std::string>(own, std::move(list), at_once(group_rule::fail_fast));
    known = all.time.now();
    co_return got.verdict.error().message();
  };
  started<gave> end;
  all.start(end, within(root, run_settings("part"), body));
  all.advance(1s);
  REQUIRE(known);
  CHECK(*known == began + 1s);
  CHECK_FALSE(end.ended);
  all.advance(2s);
  REQUIRE(end.value);
  CHECK(*end.value == "no");
  CHECK(all.alive == 0);
}

TEST_CASE("ended at every step of the way, with tasks that go on: nothing is left behind") {
  for (int steps = 0; steps < 40; ++steps) {
    CAPTURE(steps);
    group_fixture all;
    started<leave_result> left;
    run_scope root = all.open();
    ended_group end;
    {
      group tasks(root, at_once(group_rule::fail_fast));
      tasks.start(all.deaf("a", 2s));
      tasks.start([&all](run_scope& own) -> asio::awaitable<gave> {
        group below(own, at_once(group_rule::quorum));
        below.start(all.good("x", 1s));
        below.start(all.deaf("y", 2s));
        auto got = co_await below.wait();
        co_return line(got);
      });
      tasks.start(all.bad("c", 1500ms));
      all.start(end, tasks.wait());
      for (int step = 0; step < steps; ++step) {
        all.loop.restart();
        if (all.loop.poll_one() == 0) all.time.advance(500ms);
      }
      if (!end.ended) end.cancel.emit(asio::cancellation_type::terminal);
      all.run();
      REQUIRE(end.value);
      const group_counts& counts = end.value->counts;
      CHECK(counts.succeeded + counts.failed + counts.cancelled == 3);
      CHECK(end.value->outcomes.size() == 3);
    }
    all.start(left, root.leave());
    all.advance(2s);
    REQUIRE(left.value);
    CHECK(left.value->abandoned == 0);
    CHECK(all.alive == 0);
  }
}

TEST_CASE("the context is destroyed while tasks end behind their group") {
  int alive = 0;
  testing::manual_time_source time;
  auto loop = std::make_unique<asio::io_context>(1);
  bulkhead gate(loop->get_executor(), policy({.slots = 4, .tokens = 1'000}), time);
  std::optional<run_scope> root = run_scope::open(gate, run_settings("root")).value();
  auto tasks = std::make_unique<task_group<int>>(*root, at_once(group_rule::fail_fast));
  tasks->start([&](run_scope&) -> asio::awaitable<expected<int, error>> {
    const counted here(alive);
    co_await asio::this_coro::throw_if_cancelled(false);
    for (;;) co_await sleep_until(time, never);
  });
  tasks->start([&](run_scope&) -> asio::awaitable<expected<int, error>> {
    co_return unexpected<error>(error(errc::refused, "no"));
  });
  bool ended = false;
  asio::co_spawn(*loop, tasks->wait(), [&](std::exception_ptr, const group_result<int>&) { ended = true; });
  // Not `poll`: one that is deaf in a loop, once it was cancelled, waits anew each time.
  for (int step = 0; step < 200; ++step) loop->poll_one();
  CHECK(ended);
  CHECK(alive == 1);
  SUBCASE("before the group") {
    loop.reset();
    tasks.reset();
    root.reset();
  }
  SUBCASE("after the group") {
    tasks.reset();
    loop.reset();
    root.reset();
  }
  SUBCASE("after the run") {
    tasks.reset();
    root.reset();
    loop.reset();
  }
  CHECK(alive == 0);
}
