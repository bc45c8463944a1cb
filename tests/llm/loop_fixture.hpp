/// \file
/// `loop_fixture`: one loop and a clock that stands still, on the test's thread, for calls that are started and
/// watched.
#pragma once

#include "runtime/started.hpp"

#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace sluice::llm::test {

using sluice::test::started;

class loop_fixture {
 public:
  testing::manual_time_source time;
  asio::io_context loop{1};

  [[nodiscard]] instant in(duration length) const { return after(time.now(), length); }

  /// Runs all that can run.
  void run() {
    loop.restart();
    loop.poll();
  }

  void advance(duration length) {
    time.advance(length);
    run();
  }

  template <typename T>
  std::shared_ptr<started<expected<T, failure>>> start(asio::awaitable<expected<T, failure>> what) {
    using result = expected<T, failure>;
    auto state = std::make_shared<started<result>>();
    asio::co_spawn(loop, hold(std::move(what), state),
                   asio::bind_cancellation_slot(state->cancel.slot(), [state](std::exception_ptr thrown) {
                     state->ended = true;
                     state->thrown = thrown;
                   }));
    run();
    return state;
  }

  template <typename State>
  void cancel(State& state) {
    state->cancel.emit(asio::cancellation_type::terminal);
    run();
  }

 private:
  template <typename Result>
  static asio::awaitable<void> hold(asio::awaitable<Result> what, std::shared_ptr<started<Result>> state) {
    auto result = co_await std::move(what);
    state->value.emplace(std::move(result));
  }
};

}  // namespace sluice::llm::test
