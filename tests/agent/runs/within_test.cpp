#include <sluice/agent/run_scope.hpp>

#include <sluice/agent/detail/task_set.hpp>
#include <sluice/runtime/sleep.hpp>

#include "agent/agent_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>

using namespace std::chrono_literals;
using namespace sluice;
using agent::run_scope;
using agent::run_settings;
using agent::test::agent_fixture;
using agent::test::started;

namespace {

asio::awaitable<void> sleeping(time_source& time, bool& stopped) {
  struct mark {
    bool& of;
    explicit mark(bool& flag) : of(flag) {}
    ~mark() { of = true; }
  } const here(stopped);
  co_await sleep_until(time, never);
}

}  // namespace

TEST_CASE("the body's result comes back, and the run has been left") {
  agent_fixture f;
  SUBCASE("a value") {
    started<expected<int, error>> result;
    f.start(result,
            agent::within(f.gate, run_settings("root"), [](run_scope&) -> asio::awaitable<int> { co_return 7; }));
    REQUIRE(result.value);
    CHECK(result.value->value() == 7);
  }
  SUBCASE("a result of its own") {
    started<expected<std::string, error>> result;
    f.start(result, agent::within(
                        f.gate, run_settings("root"),
                        [](run_scope& run) -> asio::awaitable<expected<std::string, error>> { co_return run.path(); }));
    REQUIRE(result.value);
    CHECK(result.value->value() == "root");
  }
  SUBCASE("nothing") {
    started<expected<void, error>> result;
    f.start(result,
            agent::within(f.gate, run_settings("root"), [](run_scope&) -> asio::awaitable<void> { co_return; }));
    REQUIRE(result.value);
    CHECK(result.value->has_value());
  }
  SUBCASE("a run that cannot be opened") {
    started<expected<int, error>> result;
    bool ran = false;
    f.start(result,
            agent::within(f.gate, run_settings("late").until(f.gate.now()), [&ran](run_scope&) -> asio::awaitable<int> {
              ran = true;
              co_return 7;
            }));
    REQUIRE(result.value);
    REQUIRE_FALSE(*result.value);
    CHECK(result.value->error().is(errc::deadline_exceeded));
    CHECK_FALSE(ran);
  }
  SUBCASE("an exception") {
    started<expected<int, error>> result;
    f.start(result, agent::within(f.gate, run_settings("root"), [](run_scope&) -> asio::awaitable<int> {
              throw std::runtime_error("broken");
              co_return 7;
            }));
    CHECK(result.ended);
    CHECK_THROWS_WITH_AS(std::rethrow_exception(result.thrown), "broken", std::runtime_error);
  }
  CHECK(f.gate.statistics().runs == 0);
}

TEST_CASE("what was started in it has stopped when it completes, whatever the way out") {
  agent_fixture f;
  bool stopped = false;
  bool go_on = true;
  run_scope root = f.open();
  const auto body = [&](run_scope& run) -> asio::awaitable<int> {
    static_cast<void>(agent::detail::task_set::make(run)->start(sleeping(f.time, stopped)));
    co_await sleep_until(f.time, f.time.now() + 1s);
    co_await sleep_until(f.time, f.time.now());
    if (!go_on) throw std::runtime_error("broken");
    co_return 7;
  };
  started<expected<int, error>> result;
  f.start(result, agent::within(root, run_settings("child"), body));
  CHECK_FALSE(stopped);
  SUBCASE("by its end") {
    f.advance(1s);
    REQUIRE(result.value);
    CHECK(result.value->value() == 7);
  }
  SUBCASE("by an exception") {
    go_on = false;
    f.advance(1s);
    CHECK_THROWS_AS(std::rethrow_exception(result.thrown), std::runtime_error);
  }
  SUBCASE("by a cancellation of the caller") {
    result.cancel.emit(asio::cancellation_type::terminal);
    f.run();
    CHECK_THROWS_AS(std::rethrow_exception(result.thrown), std::system_error);
  }
  CHECK(result.ended);
  CHECK(stopped);
  CHECK(f.gate.statistics().runs == 1);
}
