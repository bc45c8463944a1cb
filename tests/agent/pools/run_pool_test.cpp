#include <sluice/agent/run_pool.hpp>

#include "agent/agent_fixture.hpp"

#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/task_group.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/runtime/sleep.hpp>

#include <doctest/doctest.h>
#include <asio/this_coro.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using agent::group_result;
using agent::group_rule;
using agent::run_permit;
using agent::run_pool;
using agent::run_scope;
using agent::run_settings;
using agent::task_group;
using agent::test::agent_fixture;
using agent::test::started;

namespace {

using admitted = expected<run_permit, error>;
using said = expected<std::string, error>;

/// So many runs at once, of whatever class.
policy places(std::int64_t count) {
  policy rules({.slots = count, .tokens = unlimited});
  for (auto& each : rules.classes) {
    each.floor = {};
    each.elastic.enabled = false;
  }
  return rules;
}

struct house : agent_fixture {
  explicit house(std::int64_t count) : pool(loop.get_executor(), places(count), time) {}

  run_pool pool;
  std::vector<std::string> log;

  /// The same as `admit`, with something to default-construct.
  asio::awaitable<std::optional<admitted>> take(run_scope& who) {
    std::optional<admitted> got;
    auto answer = co_await pool.admit(who);
    got.emplace(std::move(answer));
    co_return got;
  }
  using taken = started<std::optional<admitted>>;

  /// Takes a place, keeps it for so long, and says how it went.
  asio::awaitable<said> work(run_scope& who, duration for_so_long) {
    auto place = co_await pool.admit(who);
    if (!place) co_return unexpected<error>(std::move(place).error());
    log.push_back(who.path());
    co_await sleep_until(time, after(time.now(), for_so_long));
    co_return who.path();
  }
  /// Takes a place, and then a child that needs one too.
  asio::awaitable<said> nested(run_scope& who, duration for_so_long) {
    auto place = co_await pool.admit(who);
    if (!place) co_return unexpected<error>(std::move(place).error());
    co_return co_await below(who, for_so_long);
  }
  asio::awaitable<said> below(run_scope& who, duration for_so_long) {
    auto body = [this, for_so_long](run_scope& own) { return work(own, for_so_long); };
    auto made = agent::within(who, run_settings("child"), body);
    co_return co_await std::move(made);
  }
  /// The same, with its place given back meanwhile.
  asio::awaitable<said> polite(run_scope& who, duration for_so_long) {
    auto place = co_await pool.admit(who);
    if (!place) co_return unexpected<error>(std::move(place).error());
    auto waiting = below(who, for_so_long);
    auto got = co_await place->suspended_while(std::move(waiting));
    if (!got) co_return unexpected<error>(std::move(got).error());
    log.push_back(who.path() + " again");
    co_return *std::move(got);
  }
};

}  // namespace

TEST_CASE("as many runs as there are places; the others wait, and a place that is lost goes on") {
  house all(1);
  run_scope first = all.open(run_settings("first"));
  run_scope second = all.open(run_settings("second"));
  house::taken one;
  house::taken two;
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
  house all(1);
  run_scope holder = all.open(run_settings("holder"));
  run_scope idle = all.open(run_settings("idle").as(batch));
  run_scope brisk = all.open(run_settings("brisk"));
  run_scope late = all.open(run_settings("late").until(all.gate.in(10s)).keep_for_last_answer({}, 4s));
  house::taken held;
  house::taken low;
  house::taken high;
  house::taken bounded;
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
  house all(1);
  run_scope first = all.open(run_settings("first"));
  run_scope second = all.open(run_settings("second"));
  house::taken one;
  house::taken two;
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
    house::taken three;
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

TEST_CASE("a parent that holds the only place, and a child that needs one: found at once, with the chain") {
  house all(1);
  run_scope nightly = all.open(run_settings("nightly"));
  started<said> end;
  all.start(end, all.nested(nightly, 1s));
  REQUIRE(end.value);
  REQUIRE_FALSE(*end.value);
  CHECK(end.value->error().is(errc::refused));
  CHECK(end.value->error().message() ==
        "would wait for ever: nightly/child needs a run's place, and the only one is held by nightly, which waits for "
        "it; "
        "let those that wait give theirs back meanwhile (run_permit::suspended_while), or raise the pool's slots");
  CHECK(all.pool.held() == 0);
}

TEST_CASE("the same, with the place given back meanwhile") {
  house all(1);
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

TEST_CASE("it comes back before newer runs of its class") {
  house all(1);
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

TEST_CASE("two parents hold the two places, and each has a child that wants one") {
  house all(2);
  run_scope left = all.open(run_settings("left"));
  run_scope right = all.open(run_settings("right"));
  started<said> one;
  started<said> two;
  // The first child waits: the other parent could still end.
  house::taken of_right;
  all.start(of_right, all.take(right));
  all.start(one, all.nested(left, 1s));
  CHECK_FALSE(one.ended);
  all.start(two, all.below(right, 1s));
  REQUIRE(two.value);
  CHECK(two.value->error().message().find("right/child needs a run's place, and all 2 are held by ") !=
        std::string::npos);
  CHECK(two.value->error().message().find("left, which waits for left/child") != std::string::npos);
  CHECK_FALSE(one.ended);
  // Its parent gets that, and ends.
  of_right.value.reset();
  all.run();
  all.advance(1s);
  REQUIRE(one.value);
  CHECK(*one.value == "left/child");
}

TEST_CASE("a holder that is merely slow is no circle") {
  house all(1);
  run_scope slow = all.open(run_settings("slow"));
  run_scope parent = all.open(run_settings("parent"));
  started<said> one;
  started<said> two;
  all.start(one, all.work(slow, 60s));
  all.start(two, all.below(parent, 1s));
  all.advance(59s);
  CHECK_FALSE(two.ended);
  all.advance(1s);
  all.advance(1s);
  REQUIRE(two.value);
  CHECK(*two.value == "parent/child");
}

TEST_CASE("a group whose tasks need places while its owner has the only one") {
  house all(1);
  run_scope root = all.open();
  house::taken own;
  all.start(own, all.take(root));
  started<group_result<std::string>> end;
  const auto needy = [&all](run_scope& in) { return all.work(in, 1s); };
  const auto modest = [&all](run_scope& in) -> asio::awaitable<said> {
    co_await sleep_until(all.time, after(all.time.now(), 5s));
    co_return in.path();
  };
  SUBCASE("collect: the circle closes when it is waited for") {
    task_group<std::string> tasks(root);
    tasks.start(needy, run_settings("one"));
    all.run();
    CHECK(all.pool.waiting() == 1);
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(
        end.value->outcomes[0].error().message().find("root/one needs a run's place, and the only one is held by root, "
                                                      "which waits for it") != std::string::npos);
    CHECK(end.value->counts.failed == 1);
  }
  SUBCASE("a quorum that the others can meet: nothing is refused") {
    task_group<std::string> tasks(root, {.rule = group_rule::quorum, .quorum = 1});
    tasks.start(needy, run_settings("one"));
    tasks.start(modest, run_settings("two"));
    all.start(end, tasks.wait());
    CHECK(all.pool.waiting() == 1);
    CHECK_FALSE(end.ended);
    all.advance(5s);
    REQUIRE(end.value);
    CHECK(end.value->verdict);
    CHECK(end.value->outcomes[0].error().is(errc::cancelled));
    CHECK(*end.value->outcomes[1] == "root/two");
  }
  SUBCASE("a quorum that they cannot") {
    task_group<std::string> tasks(root, {.rule = group_rule::quorum, .quorum = 2});
    tasks.start(needy, run_settings("one"));
    tasks.start(modest, run_settings("two"));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict.error().message().find("would wait for ever: root/one") != std::string::npos);
  }
  SUBCASE("more tasks than the width: those that have not begun cannot help") {
    task_group<std::string> tasks(root, {.rule = group_rule::quorum, .quorum = 1, .width = 2});
    tasks.start(needy, run_settings("one"));
    tasks.start(needy, run_settings("two"));
    tasks.start(modest, run_settings("three"));
    all.start(end, tasks.wait());
    // One of the two is refused, which makes room.
    CHECK_FALSE(end.ended);
    CHECK(all.pool.waiting() == 1);
    all.advance(5s);
    REQUIRE(end.value);
    CHECK(end.value->verdict);
    CHECK(*end.value->outcomes[2] == "root/three");
    CHECK(end.value->counts.failed == 1);
  }
  SUBCASE("the place given back while they run") {
    task_group<std::string> tasks(root, {.width = 4});
    for (int each = 0; each < 3; ++each) tasks.start(needy);
    started<expected<group_result<std::string>, error>> away;
    run_permit& place = ***own.value;
    all.start(away, place.suspended_while(tasks.wait()));
    for (int each = 0; each < 3; ++each) {
      CHECK(all.pool.held() == 1);
      all.advance(1s);
    }
    REQUIRE(away.value);
    CHECK((*away.value)->counts.succeeded == 3);
    CHECK(static_cast<bool>(place));
    CHECK(all.pool.held() == 1);
  }
}

TEST_CASE("suspended twice: given back once, and taken again once, by the last") {
  house all(1);
  run_scope root = all.open();
  house::taken own;
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
  house all(1);
  run_scope root = all.open();
  house::taken own;
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

TEST_CASE("cancelled at every step, the places all come back") {
  for (int steps = 0; steps < 40; ++steps) {
    CAPTURE(steps);
    house all(1);
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
