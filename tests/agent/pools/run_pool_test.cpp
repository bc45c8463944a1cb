#include <sluice/agent/run_pool.hpp>

#include "agent/pools/pool_fixture.hpp"

#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/sleep.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

TEST_CASE("as many runs as there are places; the others wait, and a place that is lost goes on") {
  pool_fixture all(1);
  run_scope first = all.open(run_settings("first"));
  run_scope second = all.open(run_settings("second"));
  taken one;
  taken two;
  all.start(one, all.take(first));
  all.start(two, all.take(second));
  REQUIRE(one.value);
  REQUIRE((*one.value)->has_value());
  CHECK(static_cast<bool>(***one.value));
  CHECK_FALSE(two.ended);
  CHECK(all.pool.held() == 1);
  CHECK(all.pool.waiting() == 1);
  SUBCASE("released") { (**one.value)->release(); }
  SUBCASE("destroyed") { one.value.reset(); }
  SUBCASE("assigned over") { ***one.value = run_permit(); }
  SUBCASE("moved, then destroyed") { const run_permit elsewhere(std::move(***one.value)); }
  all.run();
  REQUIRE(two.value);
  CHECK((*two.value)->has_value());
  CHECK(all.pool.held() == 1);
  two.value.reset();
  CHECK(all.pool.held() == 0);
}

TEST_CASE("admission is by class, and by the run's working deadline") {
  pool_fixture all(1);
  run_scope holder = all.open(run_settings("holder"));
  run_scope idle = all.open(run_settings("idle").as(batch));
  run_scope brisk = all.open(run_settings("brisk"));
  run_scope late = all.open(run_settings("late").until(all.gate.in(10s)).keep_for_last_answer({}, 4s));
  taken held;
  taken low;
  taken high;
  taken bounded;
  all.start(held, all.take(holder));
  all.start(low, all.take(idle));
  all.start(high, all.take(brisk));
  all.start(bounded, all.take(late));
  all.advance(6s - 1ns);
  CHECK_FALSE(bounded.ended);
  all.advance(1ns);
  REQUIRE(bounded.value);
  CHECK((*bounded.value)->error().is(errc::deadline_exceeded));
  held.value.reset();
  all.run();
  CHECK(high.ended);
  CHECK_FALSE(low.ended);
  high.value.reset();
  all.run();
  CHECK(low.ended);
}

TEST_CASE("a wait is ended by its caller, its run, or the pool") {
  pool_fixture all(1);
  run_scope first = all.open(run_settings("first"));
  run_scope second = all.open(run_settings("second"));
  taken one;
  taken two;
  all.start(one, all.take(first));
  all.start(two, all.take(second));
  SUBCASE("its caller") {
    two.cancel.emit(asio::cancellation_type::terminal);
    all.run();
    CHECK(two.ended);
  }
  SUBCASE("its run") {
    second.cancel();
    all.run();
    REQUIRE(two.value);
    CHECK((*two.value)->error().is(errc::cancelled));
  }
  SUBCASE("its run, before it began") {
    second.cancel();
    taken three;
    all.start(three, all.take(second));
    REQUIRE(three.value);
    CHECK((*three.value)->error().is(errc::cancelled));
    all.run();
  }
  SUBCASE("the pool") {
    all.pool.close();
    all.run();
    REQUIRE(two.value);
    CHECK((*two.value)->error().is(errc::refused));
    CHECK((*two.value)->error().message().find("closed") != std::string::npos);
  }
  CHECK(all.pool.waiting() == 0);
  CHECK(all.pool.held() == 1);
}

TEST_CASE("a place outlives its run and its pool") {
  agent_fixture all;
  auto pool = std::make_unique<run_pool>(all.loop.get_executor(), places(1), all.time);
  std::optional<run_scope> root = all.open();
  run_permit place;
  const auto take = [&]() -> asio::awaitable<int> {
    auto got = co_await pool->admit(*root);
    place = *std::move(got);
    co_return 1;
  };
  started<int> end;
  all.start(end, take());
  REQUIRE(static_cast<bool>(place));
  SUBCASE("the run first") {
    root.reset();
    CHECK(pool->held() == 1);
    place.release();
    CHECK(pool->held() == 0);
  }
  SUBCASE("the pool first") {
    pool.reset();
    CHECK(static_cast<bool>(place));
    place.release();
  }
  SUBCASE("the pool while it is suspended") {
    const auto nap = [&all]() -> asio::awaitable<int> {
      co_await sleep_until(all.time, after(all.time.now(), 1s));
      co_return 1;
    };
    started<expected<int, error>> away;
    all.start(away, place.suspended_while(nap()));
    pool.reset();
    all.advance(1s);
    REQUIRE(away.value);
    CHECK(away.value->error().message() == "refused (closed): the pool of runs is gone");
    CHECK_FALSE(static_cast<bool>(place));
  }
}

TEST_CASE("the context is destroyed while a run waits, before the pool and after it") {
  testing::manual_time_source time;
  auto loop = std::make_unique<asio::io_context>(1);
  bulkhead gate(loop->get_executor(), policy({.slots = 4, .tokens = 1'000}), time);
  auto pool = std::make_unique<run_pool>(loop->get_executor(), places(1), time);
  std::optional<run_scope> first = run_scope::open(gate, run_settings("first")).value();
  std::optional<run_scope> second = run_scope::open(gate, run_settings("second")).value();
  const auto hold = [&](run_scope& who) -> asio::awaitable<void> {
    auto got = co_await pool->admit(who);
    co_await sleep_until(time, never);
  };
  asio::co_spawn(*loop, hold(*first), [](std::exception_ptr) {});
  asio::co_spawn(*loop, hold(*second), [](std::exception_ptr) {});
  loop->poll();
  CHECK(pool->held() == 1);
  CHECK(pool->waiting() == 1);
  SUBCASE("before") {
    loop.reset();
    CHECK(pool->held() == 0);
    CHECK(pool->waiting() == 0);
    pool.reset();
  }
  SUBCASE("after") {
    pool.reset();
    loop.reset();
  }
  SUBCASE("after the runs") {
    first.reset();
    second.reset();
    loop.reset();
    pool.reset();
  }
}
