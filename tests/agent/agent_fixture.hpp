/// \file
/// `agent_fixture`: one loop, a clock that stands still and a gate, all on the test's thread, for runs and their tasks.
#pragma once

#include "runtime/started.hpp"

#include <sluice/agent/run_scope.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <exception>
#include <utility>

namespace sluice::agent::test {

using sluice::test::started;

/// Counts frames that are alive.
class counted {
 public:
  explicit counted(int& of) : of_(&of) { ++*of_; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --*of_; }

 private:
  int* of_;
};

class agent_fixture {
 public:
  explicit agent_fixture(const policy& rules = policy({.slots = 4, .tokens = 100'000}))
      : gate(loop.get_executor(), rules, time) {}

  testing::manual_time_source time;
  asio::io_context loop{1};
  bulkhead gate;

  /// Runs all that can run.
  void run() {
    loop.restart();
    loop.poll();
  }
  void advance(duration length) {
    time.advance(length);
    run();
  }

  /// Starts a coroutine and runs it as far as it goes.
  template <typename T>
  void start(started<T>& into, asio::awaitable<T> work) {
    asio::co_spawn(loop, std::move(work),
                   asio::bind_cancellation_slot(into.cancel.slot(), [&into](std::exception_ptr thrown, T value) {
                     into.ended = true;
                     into.thrown = std::move(thrown);
                     if (!into.thrown) into.value.emplace(std::move(value));
                   }));
    run();
  }

  [[nodiscard]] run_scope open(run_settings how = run_settings("root")) {
    return run_scope::open(gate, std::move(how)).value();
  }
};

}  // namespace sluice::agent::test
