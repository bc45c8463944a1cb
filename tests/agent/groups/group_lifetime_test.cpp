#include <sluice/agent/task_group.hpp>

#include "agent/groups/group_fixture.hpp"

#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/sleep.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

TEST_CASE("what a task holds is let go of when it has ended, not with the group") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root);
  const auto held = std::make_shared<int>(7);
  tasks.start([&all, held](run_scope&) { return all.answer(std::to_string(*held), 1s); });
  all.run();
  CHECK(held.use_count() > 1);
  all.advance(1s);
  CHECK(held.use_count() == 1);
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
