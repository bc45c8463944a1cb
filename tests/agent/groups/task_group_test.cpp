#include <sluice/agent/task_group.hpp>

#include "agent/agent_fixture.hpp"

#include <sluice/agent/run_scope.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/sleep.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using agent::group_counts;
using agent::group_options;
using agent::group_result;
using agent::group_rule;
using agent::run_scope;
using agent::run_settings;
using agent::task_group;
using agent::test::agent_fixture;
using agent::test::counted;
using agent::test::started;

namespace {

using gave = expected<std::string, error>;
using group = task_group<std::string>;
using task = group::task;

struct house : agent_fixture {
  int alive = 0;
  int most_alive = 0;
  std::vector<std::string> begun;

  [[nodiscard]] asio::awaitable<gave> answer(std::string words, duration after_so_long) {
    const counted here(alive);
    most_alive = std::max(most_alive, alive);
    begun.push_back(words);
    const instant end = after(time.now(), after_so_long);
    co_await sleep_until(time, end);
    if (time.now() < end) co_return unexpected<error>(error(errc::connection_lost, "stopped"));
    co_return words;
  }
  [[nodiscard]] asio::awaitable<gave> refuse(std::string words, duration after_so_long) {
    const counted here(alive);
    begun.push_back(words);
    co_await sleep_until(time, after(time.now(), after_so_long));
    co_return unexpected<error>(error(errc::provider_failed, words));
  }
  /// Does not hear of its cancellation.
  [[nodiscard]] asio::awaitable<gave> stubborn(std::string words, duration for_so_long) {
    const counted here(alive);
    begun.push_back(words);
    const instant end = after(time.now(), for_so_long);
    co_await asio::this_coro::throw_if_cancelled(false);
    while (time.now() < end) co_await sleep_until(time, end);
    co_return words;
  }

  [[nodiscard]] task good(std::string words, duration after_so_long = 0s) {
    return [this, words = std::move(words), after_so_long](run_scope&) { return answer(words, after_so_long); };
  }
  [[nodiscard]] task bad(std::string words, duration after_so_long = 0s) {
    return [this, words = std::move(words), after_so_long](run_scope&) { return refuse(words, after_so_long); };
  }
  [[nodiscard]] task deaf(std::string words, duration for_so_long) {
    return [this, words = std::move(words), for_so_long](run_scope&) { return stubborn(words, for_so_long); };
  }
};

/// What came of each, in one line: words, `!` and words, or `-` when it was cancelled.
std::string line(const group_result<std::string>& of) {
  std::string said;
  for (const gave& each : of.outcomes) {
    if (!said.empty()) said += ' ';
    said += each ? *each : each.error().is(errc::cancelled) ? "-" : "!" + each.error().message();
  }
  return said;
}

}  // namespace

TEST_CASE("collect: every outcome, in the order of their start, and no more than the width at once") {
  house all;
  run_scope root = all.open();
  group tasks(root, {.width = 2});
  tasks.start(all.good("a", 3s));
  tasks.start(all.bad("b", 1s));
  tasks.start(all.good("c", 1s));
  tasks.start(all.good("d", 9s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  CHECK(all.begun == std::vector<std::string>{"a", "b"});
  all.advance(1s);
  CHECK(all.begun == std::vector<std::string>{"a", "b", "c"});
  all.advance(1s);
  CHECK(all.begun == std::vector<std::string>{"a", "b", "c", "d"});
  all.advance(9s - 1ns);
  CHECK_FALSE(end.ended);
  all.advance(1ns);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "a !b c d");
  CHECK(end.value->verdict);
  CHECK(end.value->counts == group_counts{.succeeded = 3, .failed = 1});
  CHECK(all.most_alive == 2);
  CHECK(all.alive == 0);
}

TEST_CASE("fail_fast: the first failure is the group's, and the others are cancelled") {
  house all;
  run_scope root = all.open();
  group tasks(root, {.rule = group_rule::fail_fast, .width = 3});
  tasks.start(all.good("a", 1s));
  tasks.start(all.good("b", 9s));
  tasks.start(all.bad("c", 2s));
  tasks.start(all.good("d", 9s));
  tasks.start(all.good("e"));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  all.advance(1s);
  all.advance(1s);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "a - !c - -");
  CHECK(end.value->verdict.error() == error(errc::provider_failed, "c"));
  CHECK(end.value->outcomes[1].error().message() ==
        "run root/task: cancelled, since another task of its group had failed");
  CHECK(end.value->counts == group_counts{.succeeded = 1, .failed = 1, .cancelled = 3});
  // The last one never began.
  CHECK(all.begun == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(all.alive == 0);
}

TEST_CASE("quorum: enough successes cancel the others") {
  house all;
  run_scope root = all.open();
  group tasks(root, {.rule = group_rule::quorum, .quorum = 2});
  tasks.start(all.good("a", 9s));
  tasks.start(all.good("b", 1s));
  tasks.start(all.bad("c", 1s));
  tasks.start(all.good("d", 2s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  all.advance(2s);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "- b !c d");
  CHECK(end.value->verdict);
}

TEST_CASE("quorum: out of reach") {
  house all;
  run_scope root = all.open();
  started<group_result<std::string>> end;
  SUBCASE("too many have failed") {
    group tasks(root, {.rule = group_rule::quorum, .quorum = 2});
    tasks.start(all.good("a", 9s));
    tasks.start(all.bad("b", 1s));
    tasks.start(all.bad("c", 2s));
    all.start(end, tasks.wait());
    all.advance(2s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "- !b !c");
    CHECK(end.value->verdict.error() ==
          error(errc::provider_failed,
                "run root: the quorum of 2 cannot be met: 0 of 3 tasks succeeded; the last failure: c"));
  }
  SUBCASE("there are too few") {
    group tasks(root, {.rule = group_rule::quorum, .quorum = 3});
    tasks.start(all.good("a", 9s));
    tasks.start(all.good("b", 9s));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict.error() ==
          error(errc::invalid_argument,
                "run root: the quorum of 3 cannot be met: 0 of 2 tasks succeeded; start more tasks, or lower quorum"));
    CHECK(end.value->counts == group_counts{.cancelled = 2});
  }
}

TEST_CASE("an empty group, a width of zero, a wait for the second time, a start when it is over") {
  house all;
  run_scope root = all.open();
  started<group_result<std::string>> end;
  group tasks(root, {.width = 0});
  SUBCASE("empty") {
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict);
    CHECK(end.value->outcomes.empty());
  }
  SUBCASE("not empty") {
    tasks.start(all.good("a", 1s));
    tasks.start(all.good("b", 1s));
    all.start(end, tasks.wait());
    CHECK(all.begun.size() == 1);
    all.advance(1s);
    all.advance(1s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "a b");
  }
  tasks.start(all.good("late"));
  tasks.start_latest("k", all.good("late"));
  started<group_result<std::string>> again;
  all.start(again, tasks.wait());
  REQUIRE(again.value);
  CHECK(again.value->verdict.error() == error(errc::invalid_argument, "the group was waited for already"));
  CHECK(again.value->outcomes.empty());
  CHECK_FALSE(tasks.poll("k"));
  CHECK(std::count(all.begun.begin(), all.begun.end(), "late") == 0);
}

TEST_CASE("a sibling that ignores its cancellation delays the first failure by the grace at most") {
  house all;
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
  house all;
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

TEST_CASE("an exception of a task is a failure with its words") {
  house all;
  run_scope root = all.open();
  group tasks(root);
  tasks.start([](run_scope&) -> asio::awaitable<gave> { throw std::runtime_error("before it began"); });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw std::runtime_error("while it ran");
    co_return "";
  });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw error_exception(error(errc::rate_limited, "slower"));
    co_return "";
  });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw std::system_error(std::make_error_code(std::errc::io_error), "disk");
    co_return "";
  });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw 7;
    co_return "";
  });
  tasks.start(nullptr);
  tasks.start(all.good("fine"));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  REQUIRE(end.value);
  const auto& got = end.value->outcomes;
  REQUIRE(got.size() == 7);
  CHECK(got[0].error() == error(errc::invalid_argument, "the task threw: before it began"));
  CHECK(got[1].error() == error(errc::invalid_argument, "the task threw: while it ran"));
  CHECK(got[2].error() == error(errc::rate_limited, "slower"));
  CHECK(got[3].error().code() == std::errc::io_error);
  CHECK(got[4].error() == error(errc::invalid_argument, "the task threw something that is no std::exception"));
  CHECK(got[5].error().is(errc::invalid_argument));
  CHECK(got[6] == "fine");
  CHECK(end.value->counts == group_counts{.succeeded = 1, .failed = 6});
}

TEST_CASE("the run's working deadline ends it") {
  house all;
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

TEST_CASE("cancelled: by the caller, by its owner, by the run, by leaving the run") {
  house all;
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
  house all;
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

TEST_CASE("a task's own run: its limits, its account, and what it starts") {
  house all;
  run_scope root = all.open();
  started<group_result<std::string>> end;
  group tasks(root, {.width = 1});
  SUBCASE("named and limited") {
    run_settings how("page 7");
    how.limit({.tool_calls = 1});
    tasks.start(
        [](run_scope& own) -> asio::awaitable<gave> {
          const bool one = own.charge({.tool_calls = 1}).has_value();
          const bool two = own.charge({.tool_calls = 1}).has_value();
          co_return own.path() + (one ? " one" : "") + (two ? " two" : "");
        },
        how);
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(line(*end.value) == "root/page 7 one");
    CHECK(root.balance().spent.tool_calls == 1);
  }
  SUBCASE("what it leaves behind is cancelled before the next one begins") {
    tasks.start([&](run_scope& own) -> asio::awaitable<gave> {
      group stray(own);
      stray.start(all.deaf("stray", 2s));
      co_return "left";
    });
    tasks.start(all.good("next"));
    all.start(end, tasks.wait());
    CHECK(all.alive == 1);
    CHECK(all.begun == std::vector<std::string>{"stray"});
    all.advance(2s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "left next");
  }
  SUBCASE("that cannot be opened") {
    run_settings how("none");
    how.width = -1;
    for (int each = 0; each < 20'000; ++each) tasks.start(all.good("never"), how);
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->counts == group_counts{.failed = 20'000});
    CHECK(end.value->outcomes.back().error().message().find("width is -1") != std::string::npos);
    CHECK(all.begun.empty());
  }
  SUBCASE("in a run that was cancelled before") {
    root.cancel();
    tasks.start(all.good("never"));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(line(*end.value) == "-");
    CHECK(end.value->verdict.error().is(errc::cancelled));
    CHECK(all.begun.empty());
  }
}

TEST_CASE("what a task holds is let go of when it has ended, not with the group") {
  house all;
  run_scope root = all.open();
  group tasks(root);
  const auto held = std::make_shared<int>(7);
  tasks.start([&all, held](run_scope&) { return all.answer(std::to_string(*held), 1s); });
  all.run();
  CHECK(held.use_count() > 1);
  all.advance(1s);
  CHECK(held.use_count() == 1);
}

TEST_CASE("gather, and tasks that give nothing") {
  house all;
  run_scope root = all.open();
  int ran = 0;
  std::vector<task_group<void>::task> list;
  for (int each = 0; each < 20; ++each) {
    list.push_back([&ran, each](run_scope&) -> asio::awaitable<expected<void, error>> {
      ++ran;
      if (each == 7) co_return unexpected<error>(error(errc::refused, "seven"));
      co_return expected<void, error>();
    });
  }
  started<group_result<void>> end;
  all.start(end, agent::gather<void>(root, std::move(list)));
  REQUIRE(end.value);
  CHECK(ran == 20);
  CHECK(end.value->counts == group_counts{.succeeded = 19, .failed = 1});
  CHECK(end.value->outcomes[7].error() == error(errc::refused, "seven"));
}

TEST_CASE("start_latest: the former is cancelled at once, and the new one does not wait for it") {
  house all;
  run_scope root = all.open();
  group tasks(root, {.width = 1});
  tasks.start_latest("route", all.deaf("first", 5s));
  all.run();
  tasks.start_latest("route", all.good("second", 1s));
  all.run();
  CHECK(all.begun == std::vector<std::string>{"first", "second"});
  CHECK(tasks.pending("route"));
  CHECK_FALSE(tasks.pending("speech"));
  CHECK_FALSE(tasks.poll("route"));
  started<group_result<std::string>> end;
  SUBCASE("polled") {
    all.advance(1s);
    CHECK_FALSE(tasks.pending("route"));
    const auto got = tasks.poll("route");
    REQUIRE(got);
    CHECK(*got == "second");
    CHECK_FALSE(tasks.poll("route"));
    all.advance(4s);
    CHECK_FALSE(tasks.poll("route"));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->outcomes.empty());
  }
  SUBCASE("waited for") {
    all.start(end, tasks.wait());
    all.advance(1s);
    CHECK_FALSE(end.ended);
    all.advance(4s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "second");
  }
  CHECK(end.value->verdict);
  CHECK(end.value->counts == group_counts{.succeeded = 1, .cancelled = 1, .replaced = 1});
}

TEST_CASE("poll gives failures, and cancellations, too") {
  house all;
  run_scope root = all.open();
  group tasks(root);
  tasks.start_latest("k", all.bad("no", 1s));
  all.run();
  all.advance(1s);
  const auto failed = tasks.poll("k");
  REQUIRE(failed);
  CHECK(failed->error() == error(errc::provider_failed, "no"));
  tasks.start_latest("k", all.good("never", 1s));
  all.run();
  tasks.cancel();
  all.run();
  const auto cancelled = tasks.poll("k");
  REQUIRE(cancelled);
  CHECK(cancelled->error().is(errc::cancelled));
}

TEST_CASE("five minutes of frames: stale requests are replaced, answers are taken, and nothing grows") {
  house all;
  run_scope root = all.open();
  int answers = 0;
  {
    group tasks(root, {.width = 2});
    for (int frame = 0; frame < 5 * 60 * 60; ++frame) {
      if (frame % 20 == 0) tasks.start_latest("route", all.good("r", frame % 100 == 0 ? 1s : 100ms));
      if (frame % 30 == 0) tasks.start_latest("speech", all.good("s", 200ms));
      all.advance(16ms);
      for (const char* key : {"route", "speech"}) {
        if (const auto got = tasks.poll(key)) {
          CHECK(got->has_value());
          ++answers;
        }
      }
      REQUIRE(all.alive <= 2);
      all.begun.clear();
    }
  }
  all.run();
  CHECK(all.alive == 0);
  // Four of five routes come before they are replaced, and every speech.
  CHECK(answers == 720 + 600);
}

TEST_CASE("cancelled at every step of the way, nothing is left behind") {
  for (int steps = 0; steps < 40; ++steps) {
    CAPTURE(steps);
    house all;
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

TEST_CASE("the context is destroyed before the group and its run, and after them") {
  int alive = 0;
  testing::manual_time_source time;
  auto loop = std::make_unique<asio::io_context>(1);
  bulkhead gate(loop->get_executor(), policy({.slots = 4, .tokens = 1'000}), time);
  std::optional<run_scope> root = run_scope::open(gate, run_settings("root")).value();
  auto tasks = std::make_unique<task_group<int>>(*root, group_options{.width = 2});
  for (int each = 0; each < 5; ++each) {
    tasks->start([&](run_scope&) -> asio::awaitable<expected<int, error>> {
      const counted here(alive);
      co_await sleep_until(time, after(time.now(), 1s));
      co_return 1;
    });
  }
  started<group_result<int>> end;
  asio::co_spawn(*loop, tasks->wait(), [&](std::exception_ptr, const group_result<int>&) { end.ended = true; });
  loop->poll();
  CHECK(alive == 2);
  SUBCASE("before") {
    loop.reset();
    CHECK(alive == 0);
    tasks->start([&](run_scope&) -> asio::awaitable<expected<int, error>> { co_return 1; });
    tasks.reset();
    root.reset();
  }
  SUBCASE("between") {
    tasks.reset();
    loop.reset();
    CHECK(alive == 0);
    root.reset();
  }
  SUBCASE("after") {
    tasks.reset();
    root.reset();
    loop.reset();
    CHECK(alive == 0);
  }
  CHECK_FALSE(end.ended);
}

TEST_CASE("a group in a coroutine that is dropped with its context may outlive its gate") {
  // As in a program whose gate is declared after its context.
  testing::manual_time_source time;
  asio::io_context loop(1);
  auto clock = std::make_unique<testing::manual_time_source>();
  auto gate = std::make_unique<bulkhead>(loop.get_executor(), policy({.slots = 1, .tokens = 100}), *clock);
  int alive = 0;
  const auto sleeps = [&](run_scope&) -> asio::awaitable<expected<std::string, error>> {
    ++alive;
    co_await sleep_until(time, never);
    co_return "never";
  };
  const auto waits = [&]() -> asio::awaitable<void> {
    run_scope root = run_scope::open(*gate).value();
    agent::task_group<std::string> tasks(root);
    tasks.start(sleeps);
    static_cast<void>(co_await tasks.wait());
  };
  asio::co_spawn(loop, waits(), asio::detached);
  loop.poll();
  CHECK(alive == 1);
  gate.reset();
  clock.reset();
}
