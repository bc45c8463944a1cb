#include <sluice/agent/detail/task_set.hpp>

#include "agent/agent_fixture.hpp"
#include "agent/runs/run_state.hpp"

#include <sluice/runtime/sleep.hpp>

#include <doctest/doctest.h>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

using namespace std::chrono_literals;
using namespace sluice;
using agent::run_scope;
using agent::run_settings;
using agent::detail::run_state;
using agent::detail::task_set;
using agent::test::agent_fixture;
using agent::test::counted;
using agent::test::started;
using change = task_set::change;

namespace {

struct house : agent_fixture {
  int alive = 0;
  int done = 0;
  run_scope root = open();
  std::shared_ptr<task_set> tasks = task_set::make(root);

  asio::awaitable<void> sleeping(duration length) {
    const counted here(alive);
    const instant end = time.now() + length;
    co_await sleep_until(time, end);
    if (time.now() >= end) ++done;
  }
  asio::awaitable<void> throwing() {
    const counted here(alive);
    throw std::runtime_error("no");
    co_return;
  }
  asio::awaitable<void> stubborn(duration length) {
    const counted here(alive);
    co_await asio::this_coro::throw_if_cancelled(false);
    const instant end = time.now() + length;
    while (time.now() < end) {
      co_await asio::this_coro::reset_cancellation_state();
      co_await sleep_until(time, end);
    }
    ++done;
  }
  [[nodiscard]] std::size_t live() const { return run_state::of(root)->tasks(); }
};

asio::awaitable<change> changed(std::shared_ptr<task_set> tasks, instant until) {
  co_return co_await tasks->changed(until);
}

asio::awaitable<agent::leave_result> leave(run_scope& scope) { co_return co_await scope.leave(); }

}  // namespace

TEST_CASE("tasks run from the next turn on, end one by one, and each end is seen") {
  house h;
  REQUIRE(h.tasks->start(h.sleeping(1s)));
  REQUIRE(h.tasks->start(h.sleeping(2s)));
  CHECK(h.alive == 0);
  CHECK(h.tasks->started() == 2);
  CHECK(h.tasks->running() == 2);
  CHECK(h.live() == 2);

  started<change> first;
  h.start(first, changed(h.tasks, never));
  CHECK(h.alive == 2);
  CHECK_FALSE(first.ended);
  h.advance(1s);
  CHECK(first.value == change::progress);
  CHECK(h.tasks->ended(0));
  CHECK_FALSE(h.tasks->ended(1));
  CHECK_FALSE(h.tasks->ended(2));
  CHECK(h.live() == 1);

  started<change> second;
  h.start(second, changed(h.tasks, never));
  CHECK_FALSE(second.ended);
  h.advance(1s);
  CHECK(second.value == change::progress);
  CHECK(h.tasks->running() == 0);
  CHECK(h.live() == 0);
  CHECK(h.done == 2);

  started<change> idle;
  h.start(idle, changed(h.tasks, never));
  CHECK(idle.value == change::progress);
}

TEST_CASE(
    "one that is to begin at once has begun when it was started, in a thread of its context, and else in a later "
    "turn") {
  house h;
  // This thread runs no context.
  REQUIRE(h.tasks->start(h.sleeping(1s), task_set::begin::at_once));
  CHECK(h.alive == 0);
  int alive_then = 0;
  const auto starter = [&]() -> asio::awaitable<int> {
    static_cast<void>(h.tasks->start(h.sleeping(1s), task_set::begin::at_once));
    static_cast<void>(h.tasks->start(h.sleeping(0s), task_set::begin::at_once));
    alive_then = h.alive;
    co_return 1;
  };
  started<int> caller;
  h.start(caller, starter());
  // The first from outside, and the one that sleeps; the third was done before its `start` came back.
  CHECK(alive_then == 2);
  CHECK(h.done == 1);
  h.advance(1s);
  CHECK(h.done == 3);
  CHECK(h.live() == 0);
}

TEST_CASE("one that was cancelled before it could begin ends at its first wait, however it is started") {
  for (const auto when : {task_set::begin::later, task_set::begin::at_once}) {
    house h;
    REQUIRE(h.tasks->start(h.sleeping(1s), when));
    h.tasks->cancel(0);
    h.run();
    CHECK(h.alive == 0);
    CHECK(h.done == 0);
    CHECK(h.tasks->ended(0));
    CHECK(h.live() == 0);
    CHECK(h.time.armed() == 0);
  }
}

TEST_CASE("one that begins at once and cancels itself goes no further than its first wait") {
  house h;
  const auto suicidal = [&]() -> asio::awaitable<void> {
    const counted here(h.alive);
    h.tasks->cancel(0);
    const instant end = h.time.now() + 1s;
    co_await sleep_until(h.time, end);
    if (h.time.now() >= end) ++h.done;
  };
  const auto starter = [&]() -> asio::awaitable<int> {
    static_cast<void>(h.tasks->start(suicidal(), task_set::begin::at_once));
    co_return 1;
  };
  started<int> caller;
  h.start(caller, starter());
  h.run();
  CHECK(h.alive == 0);
  CHECK(h.done == 0);
  CHECK(h.live() == 0);
}

TEST_CASE("a task that throws has ended like any other") {
  house h;
  REQUIRE(h.tasks->start(h.throwing()));
  h.run();
  CHECK(h.tasks->ended(0));
  CHECK(h.alive == 0);
  CHECK(h.live() == 0);
}

TEST_CASE("an end that came before the wait is not lost") {
  house h;
  REQUIRE(h.tasks->start(h.sleeping(1s)));
  REQUIRE(h.tasks->start(h.sleeping(9s)));
  h.run();
  h.advance(1s);
  started<change> wait;
  h.start(wait, changed(h.tasks, never));
  CHECK(wait.value == change::progress);
  started<change> next;
  h.start(next, changed(h.tasks, h.time.now() + 2s));
  CHECK_FALSE(next.ended);
  h.tasks->notify();
  h.run();
  CHECK(next.value == change::progress);
  started<change> last;
  h.start(last, changed(h.tasks, h.time.now() + 2s));
  h.advance(2s);
  CHECK(last.value == change::late);
  h.advance(9s);
}

TEST_CASE("one is cancelled, the others go on; one that has not begun is cancelled at its first wait") {
  house h;
  REQUIRE(h.tasks->start(h.sleeping(1s)));
  REQUIRE(h.tasks->start(h.sleeping(1s)));
  SUBCASE("before it begins") {}
  SUBCASE("under way") { h.run(); }
  h.tasks->cancel(0);
  h.tasks->cancel(7);
  h.run();
  CHECK(h.tasks->ended(0));
  CHECK_FALSE(h.tasks->ended(1));
  h.advance(1s);
  CHECK(h.tasks->ended(1));
  CHECK(h.done == 1);
}

TEST_CASE("a cancelled caller is told once, and then waits for its tasks") {
  house h;
  REQUIRE(h.tasks->start(h.stubborn(3s)));
  h.run();
  using outcome = std::pair<change, change>;
  started<outcome> wait;
  const auto twice = [](std::shared_ptr<task_set> tasks) -> asio::awaitable<outcome> {
    const change first = co_await tasks->changed(never);
    co_await asio::this_coro::throw_if_cancelled(false);
    const change second = co_await tasks->changed(never);
    co_return outcome(first, second);
  };
  h.start(wait, twice(h.tasks));
  wait.cancel.emit(asio::cancellation_type::terminal);
  h.run();
  CHECK_FALSE(wait.ended);
  h.advance(3s);
  REQUIRE(wait.value);
  CHECK((*wait.value == outcome(change::cancelled, change::progress)));
}

TEST_CASE("a cancelled run cancels its tasks and those below, and starts none") {
  house h;
  run_scope child = h.root.child().value();
  const auto below = task_set::make(child);
  REQUIRE(h.tasks->start(h.sleeping(1s)));
  REQUIRE(below->start(h.sleeping(1s)));
  CHECK(h.live() == 2);
  h.run();
  h.root.cancel();
  h.run();
  CHECK(h.alive == 0);
  CHECK(h.done == 0);
  CHECK(h.live() == 0);
  CHECK_FALSE(h.tasks->start(h.sleeping(1s)));
  CHECK_FALSE(below->start(h.sleeping(1s)));
  CHECK_FALSE(task_set::make(child)->start(h.sleeping(1s)));
  CHECK(h.tasks->started() == 1);
  CHECK(h.live() == 0);
}

TEST_CASE("leaving waits for what it has cancelled, with a bound") {
  house h;
  run_settings patient("child");
  patient.grace = 5s;
  run_scope child = h.root.child(patient).value();
  auto tasks = task_set::make(child);

  SUBCASE("nothing runs") {
    started<agent::leave_result> left;
    h.start(left, leave(child));
    REQUIRE(left.value);
    CHECK(left.value->abandoned == 0);
  }
  SUBCASE("what obeys has stopped") {
    REQUIRE(tasks->start(h.sleeping(1h)));
    h.run();
    started<agent::leave_result> left;
    h.start(left, leave(child));
    REQUIRE(left.value);
    CHECK(left.value->abandoned == 0);
    CHECK(h.alive == 0);
  }
  SUBCASE("what needs its time gets it") {
    REQUIRE(tasks->start(h.stubborn(4s)));
    h.run();
    started<agent::leave_result> left;
    h.start(left, leave(child));
    h.advance(3s);
    CHECK_FALSE(left.ended);
    h.advance(1s);
    REQUIRE(left.value);
    CHECK(left.value->abandoned == 0);
  }
  SUBCASE("what does not stop is abandoned, and counted; its end is harmless") {
    REQUIRE(tasks->start(h.stubborn(60s)));
    REQUIRE(tasks->start(h.sleeping(60s)));
    h.run();
    started<agent::leave_result> left;
    h.start(left, leave(child));
    h.advance(5s);
    REQUIRE(left.value);
    CHECK(left.value->abandoned == 1);
    CHECK(h.gate.statistics().runs == 1);
    tasks.reset();
    h.advance(60s);
    CHECK(h.alive == 0);
  }
  SUBCASE("its caller's cancellation is put off") {
    REQUIRE(tasks->start(h.stubborn(4s)));
    h.run();
    started<agent::leave_result> left;
    h.start(left, leave(child));
    left.cancel.emit(asio::cancellation_type::terminal);
    h.run();
    CHECK_FALSE(left.ended);
    h.advance(4s);
    CHECK(left.ended);
    CHECK(h.alive == 0);
  }
  CHECK(h.gate.statistics().runs == 1);
  CHECK(child.cancelled());
}

TEST_CASE("two may leave at once: both complete when the last task has stopped") {
  house h;
  REQUIRE(h.tasks->start(h.stubborn(500ms)));
  h.run();
  started<agent::leave_result> first;
  started<agent::leave_result> second;
  h.start(first, leave(h.root));
  h.start(second, leave(h.root));
  CHECK_FALSE(first.ended);
  CHECK_FALSE(second.ended);
  h.advance(500ms);
  REQUIRE(first.value);
  REQUIRE(second.value);
  CHECK(first.value->abandoned == 0);
  CHECK(second.value->abandoned == 0);
}

TEST_CASE("leaving that was begun ends, whatever becomes of the scope meanwhile") {
  house h;
  started<agent::leave_result> left;
  std::optional<run_scope> child(h.root.child().value());
  auto leaving = child->leave();
  child.reset();
  h.start(left, std::move(leaving));
  REQUIRE(left.value);
  CHECK(h.gate.statistics().runs == 1);
}

TEST_CASE("a task that is dropped before it begins leaves no account open") {
  testing::manual_time_source time;
  asio::io_context gates(1);
  bulkhead gate(gates.get_executor(), policy({.slots = 4, .tokens = 100'000}), time);
  std::optional<run_scope> root(run_scope::open(gate, run_settings("root"), gates.get_executor()).value());
  {
    asio::io_context loop(1);
    run_scope child = run_scope::open(gate, run_settings("child"), loop.get_executor()).value();
    const auto state = run_state::of(child)->open_child(run_settings("never begun")).value();
    const auto tasks = task_set::make(child);
    const auto holds = [](std::shared_ptr<run_state> of) -> asio::awaitable<void> {
      static_cast<void>(of);
      co_return;
    };
    REQUIRE(tasks->start(holds(state)));
    CHECK(gate.statistics().runs == 3);
  }
  CHECK(gate.statistics().runs == 1);
}

TEST_CASE("scope, set and loop may be destroyed in any order") {
  int alive = 0;
  testing::manual_time_source time;
  auto loop = std::make_unique<asio::io_context>(1);
  auto gate = std::make_unique<bulkhead>(loop->get_executor(), policy({.slots = 4, .tokens = 100'000}), time);
  std::optional<run_scope> root(run_scope::open(*gate).value());
  auto tasks = task_set::make(*root);
  const auto sleeping = [](testing::manual_time_source& clock, int& count) -> asio::awaitable<void> {
    const counted here(count);
    co_await sleep_until(clock, clock.now() + 1h);
  };
  REQUIRE(tasks->start(sleeping(time, alive)));
  loop->poll();
  CHECK(alive == 1);
  SUBCASE("the loop first") {
    loop.reset();
    CHECK(alive == 0);
    tasks.reset();
    root.reset();
    gate.reset();
  }
  SUBCASE("the scope first") {
    root.reset();
    gate.reset();
    tasks.reset();
    loop.reset();
  }
  SUBCASE("the set first") {
    tasks.reset();
    root.reset();
    loop.reset();
  }
  CHECK(alive == 0);
}
