#include <sluice/agent/run_pool.hpp>

#include "agent/pools/pool_fixture.hpp"

#include <sluice/runtime/sleep.hpp>

#include <doctest/doctest.h>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

TEST_CASE("a run gives its place back while it waits for a child that needs one, and has it again then") {
  pool_fixture all(1);
  run_scope nightly = all.open(run_settings("nightly"));
  started<said> end;
  all.start(end, all.polite(nightly, 1s));
  CHECK(all.log == std::vector<std::string>{"nightly/child"});
  CHECK(all.pool.held() == 1);
  all.advance(1s);
  REQUIRE(end.value);
  CHECK(*end.value == "nightly/child");
  CHECK(all.pool.held() == 0);
}

TEST_CASE("a run comes back before newer runs of its class") {
  pool_fixture all(1);
  run_scope old = all.open(run_settings("old"));
  run_scope fresh = all.open(run_settings("fresh"));
  run_scope newer = all.open(run_settings("newer"));
  started<said> end;
  started<said> one;
  started<said> two;
  all.start(end, all.polite(old, 3s));
  all.start(one, all.work(fresh, 1s));
  all.start(two, all.work(newer, 1s));
  all.advance(3s);
  // The first has its place from the child's end on: then nobody older waited.
  CHECK(all.log == std::vector<std::string>{"old/child", "fresh"});
  CHECK(all.pool.waiting() == 2);
  all.advance(1s);
  CHECK(end.ended);
  CHECK(all.log == std::vector<std::string>{"old/child", "fresh", "old again", "newer"});
  all.advance(1s);
  CHECK(two.ended);
}

TEST_CASE("suspended twice: given back once, and taken again once, by the last") {
  pool_fixture all(1);
  run_scope root = all.open();
  taken own;
  all.start(own, all.take(root));
  run_permit& place = ***own.value;
  const auto nap = [&all](duration length) -> asio::awaitable<int> {
    co_await sleep_until(all.time, after(all.time.now(), length));
    co_return 1;
  };
  started<expected<int, error>> one;
  started<expected<int, error>> two;
  all.start(one, place.suspended_while(nap(1s)));
  all.start(two, place.suspended_while(nap(2s)));
  CHECK(all.pool.held() == 0);
  all.advance(1s);
  CHECK(one.ended);
  CHECK(all.pool.held() == 0);
  all.advance(1s);
  CHECK(two.ended);
  CHECK(all.pool.held() == 1);
  SUBCASE("one inside the other") {
    started<expected<expected<int, error>, error>> nested;
    all.start(nested, place.suspended_while(place.suspended_while(nap(1s))));
    CHECK(all.pool.held() == 0);
    all.advance(1s);
    REQUIRE(nested.value);
    CHECK(**nested.value == 1);
  }
  SUBCASE("another begins while it waits for its place: it gives way") {
    run_scope other = all.open(run_settings("other"));
    started<said> busy;
    started<expected<int, error>> three;
    started<expected<int, error>> four;
    all.start(three, place.suspended_while(nap(1s)));
    all.start(busy, all.work(other, 5s));
    all.advance(1s);
    CHECK_FALSE(three.ended);
    CHECK(all.pool.waiting() == 1);
    all.start(four, place.suspended_while(nap(10s)));
    all.advance(4s);
    CHECK(three.ended);
    CHECK(all.pool.held() == 0);
    all.advance(6s);
    CHECK(four.ended);
  }
  CHECK(all.pool.held() == 1);
  CHECK(static_cast<bool>(place));
}

TEST_CASE("a suspension that does not lead back to a place") {
  pool_fixture all(1);
  run_scope root = all.open();
  taken own;
  all.start(own, all.take(root));
  run_permit& place = ***own.value;
  const auto nap = [&all](duration length) -> asio::awaitable<void> {
    co_await sleep_until(all.time, after(all.time.now(), length));
  };
  started<expected<void, error>> away;
  SUBCASE("the pool was closed") {
    all.start(away, place.suspended_while(nap(1s)));
    all.pool.close();
    all.advance(1s);
    REQUIRE(away.value);
    CHECK(away.value->error().is(errc::refused));
    CHECK_FALSE(static_cast<bool>(place));
  }
  SUBCASE("the caller was cancelled") {
    all.start(away, place.suspended_while(nap(9s)));
    away.cancel.emit(asio::cancellation_type::terminal);
    all.run();
    CHECK(away.ended);
    CHECK_FALSE(static_cast<bool>(place));
  }
  SUBCASE("cancelled while it waits for its place") {
    run_scope other = all.open(run_settings("other"));
    started<said> busy;
    all.start(away, place.suspended_while(nap(1s)));
    all.start(busy, all.work(other, 5s));
    all.advance(1s);
    CHECK(all.pool.waiting() == 1);
    away.cancel.emit(asio::cancellation_type::terminal);
    all.run();
    CHECK(away.ended);
    CHECK(all.pool.waiting() == 0);
    CHECK_FALSE(static_cast<bool>(place));
    all.advance(5s);
  }
  SUBCASE("released meanwhile") {
    all.start(away, place.suspended_while(nap(1s)));
    place.release();
    all.advance(1s);
    REQUIRE(away.value);
    CHECK(away.value->has_value());
  }
  SUBCASE("an exception passes through, with a place") {
    const auto angry = []() -> asio::awaitable<void> {
      throw std::runtime_error("no");
      co_return;
    };
    all.start(away, place.suspended_while(angry()));
    CHECK(away.thrown != nullptr);
    CHECK(all.pool.held() == 1);
    CHECK(static_cast<bool>(place));
    return;
  }
  SUBCASE("an empty permit only runs the work") {
    place.release();
    all.start(away, place.suspended_while(nap(1s)));
    all.advance(1s);
    REQUIRE(away.value);
    CHECK(away.value->has_value());
  }
  CHECK(all.pool.held() == 0);
}

TEST_CASE("cancelled at every step, the places all come back") {
  for (int steps = 0; steps < 40; ++steps) {
    CAPTURE(steps);
    pool_fixture all(1);
    run_scope one = all.open(run_settings("one"));
    run_scope two = all.open(run_settings("two"));
    started<said> first;
    started<said> second;
    const auto launch = [&](started<said>& into, asio::awaitable<said> work) {
      asio::co_spawn(all.loop, std::move(work),
                     asio::bind_cancellation_slot(into.cancel.slot(),
                                                  [&into](std::exception_ptr, const said&) { into.ended = true; }));
    };
    launch(first, all.polite(one, 1s));
    launch(second, all.polite(two, 1s));
    all.loop.restart();
    for (int step = 0; step < steps; ++step) {
      if (all.loop.poll_one() == 0) all.time.advance(500ms);
      all.loop.restart();
    }
    if (!first.ended) first.cancel.emit(asio::cancellation_type::terminal);
    for (int step = 0; step < 10; ++step) {
      all.run();
      all.advance(500ms);
    }
    CHECK(first.ended);
    CHECK(second.ended);
    CHECK(all.pool.held() == 0);
    CHECK(all.pool.waiting() == 0);
  }
}
