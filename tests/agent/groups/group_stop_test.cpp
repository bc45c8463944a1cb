#include <sluice/agent/task_group.hpp>

#include "agent/groups/group_fixture.hpp"

#include <doctest/doctest.h>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

TEST_CASE("a sibling that ignores its cancellation delays the first failure by the grace at most") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root, {.rule = group_rule::fail_fast, .grace = 3s});
  run_scope* own = nullptr;
  tasks.start([&](run_scope& in) {
    own = &in;
    return all.stubborn("deaf", 60s);
  });
  tasks.start(all.bad("b", 1s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  all.advance(1s);
  CHECK_FALSE(end.ended);
  REQUIRE(own != nullptr);
  CHECK_FALSE(own->cancelled());
  all.advance(3s - 1ns);
  CHECK_FALSE(end.ended);
  all.advance(1ns);
  REQUIRE(end.value);
  CHECK(end.value->verdict.error() == error(errc::provider_failed, "b"));
  CHECK(end.value->counts == group_counts{.failed = 1, .cancelled = 1, .abandoned = 1});
  // It runs on, but can start and pay for nothing any more.
  CHECK(all.alive == 1);
  CHECK(own->cancelled());
  CHECK_FALSE(own->charge({.calls = 1}));
  CHECK_FALSE(own->child());
  all.advance(60s);
  CHECK(all.alive == 0);
}

TEST_CASE("a grace that is over when it is waited for, and none at all") {
  group_fixture all;
  run_scope root = all.open();
  for (const duration grace : {0s, 2s}) {
    group tasks(root, {.rule = group_rule::fail_fast, .grace = grace});
    tasks.start(all.deaf("deaf", 60s));
    tasks.start(all.bad("b"));
    all.run();
    all.advance(2s);
    started<group_result<std::string>> end;
    all.start(end, tasks.wait());
    all.advance(0s);
    REQUIRE(end.value);
    CHECK(end.value->counts.abandoned == 1);
  }
  all.advance(60s);
}

TEST_CASE("the run's working deadline ends it") {
  group_fixture all;
  run_settings how("root");
  how.until(all.gate.in(10s)).keep_for_last_answer({}, 4s);
  run_scope root = all.open(how);
  group tasks(root);
  tasks.start(all.good("a", 5s));
  tasks.start(all.good("b", 9s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  all.advance(6s - 1ns);
  CHECK_FALSE(end.ended);
  all.advance(1ns);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "a -");
  CHECK(end.value->verdict.error() ==
        error(errc::deadline_exceeded, "run root: its working deadline came when 1 of 2 tasks had ended"));
  CHECK(end.value->outcomes[1].error().message() ==
        "run root/task: cancelled, since the run's working deadline had come");
}

TEST_CASE("what the run's working deadline ends says what had failed by then") {
  group_fixture all;
  run_settings how("root");
  how.until(all.gate.in(10s)).keep_for_last_answer({}, 4s);
  run_scope root = all.open(how);
  group tasks(root);
  tasks.start(all.bad("boom", 2s));
  tasks.start(all.bad("later", 3s));
  tasks.start(all.good("slow", 9s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  for (const duration step : {2s, 1s, 3s}) all.advance(step);
  REQUIRE(end.value);
  CHECK(end.value->verdict.error() ==
        error(errc::deadline_exceeded,
              "run root: its working deadline came when 2 of 3 tasks had ended; the first failure: boom"));
}

TEST_CASE("cancelled: by the caller, by its owner, by the run, by leaving the run") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root, {.width = 2, .grace = 2s});
  tasks.start(all.good("a", 1s));
  tasks.start(all.good("b", 9s));
  tasks.start(all.deaf("deaf", 60s));
  tasks.start(all.good("d", 9s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  all.advance(1s);
  started<agent::leave_result> left;
  SUBCASE("by the caller") { end.cancel.emit(asio::cancellation_type::terminal); }
  SUBCASE("by its owner") { tasks.cancel(); }
  SUBCASE("by the run") { root.cancel(); }
  SUBCASE("by leaving the run") { all.start(left, root.leave()); }
  all.run();
  CHECK_FALSE(end.ended);
  // Only the one that does not hear of it.
  CHECK(all.alive == 1);
  all.advance(2s);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "a - - -");
  CHECK(end.value->verdict.error() == error(errc::cancelled, "run root: the group was cancelled"));
  CHECK(end.value->counts == group_counts{.succeeded = 1, .cancelled = 3, .abandoned = 1});
  all.advance(60s);
  CHECK(all.alive == 0);
}

TEST_CASE("leaving the run cancels its tasks and waits for them, also when nobody waits for the group") {
  group_fixture all;
  run_scope root = all.open();
  auto tasks = std::make_unique<group>(root);
  tasks->start(all.good("a", 9s));
  tasks->start(all.deaf("deaf", 3s));
  all.run();
  CHECK(all.alive == 2);
  SUBCASE("the group is still there") {}
  SUBCASE("the group is gone, and has cancelled them itself") {
    tasks.reset();
    all.run();
    CHECK(all.alive == 1);
  }
  started<agent::leave_result> left;
  all.start(left, root.leave());
  CHECK(all.alive == 1);
  CHECK_FALSE(left.ended);
  all.advance(3s);
  REQUIRE(left.value);
  CHECK(left.value->abandoned == 0);
  CHECK(all.alive == 0);
}

TEST_CASE("cancelled at every step of the way, nothing is left behind") {
  for (int steps = 0; steps < 40; ++steps) {
    CAPTURE(steps);
    group_fixture all;
    {
      run_scope root = all.open();
      group tasks(root, {.rule = group_rule::fail_fast, .width = 2, .grace = 1s});
      tasks.start(all.good("a", 1s));
      tasks.start([&](run_scope& own) -> asio::awaitable<gave> {
        group below(own);
        below.start(all.good("x", 1s));
        below.start(all.good("y", 2s));
        auto got = co_await below.wait();
        co_return line(got);
      });
      tasks.start(all.good("c", 1s));
      started<group_result<std::string>> end;
      asio::co_spawn(all.loop, tasks.wait(),
                     asio::bind_cancellation_slot(end.cancel.slot(),
                                                  [&](std::exception_ptr thrown, group_result<std::string> value) {
                                                    end.ended = true;
                                                    end.thrown = thrown;
                                                    if (!thrown) end.value.emplace(std::move(value));
                                                  }));
      all.loop.restart();
      for (int step = 0; step < steps; ++step) {
        if (all.loop.poll_one() == 0) all.time.advance(500ms);
        all.loop.restart();
      }
      const bool before = end.ended;
      end.cancel.emit(asio::cancellation_type::terminal);
      all.run();
      all.advance(1s);
      REQUIRE(end.ended);
      // Cancelled before it began, it throws, as all of Asio's coroutines do.
      if (end.value) {
        CHECK(end.value->counts.succeeded + end.value->counts.failed + end.value->counts.cancelled == 3);
        CHECK((before || end.value->verdict || end.value->verdict.error().is(errc::cancelled)));
      }
    }
    all.run();
    all.advance(10s);
    CHECK(all.alive == 0);
  }
}
