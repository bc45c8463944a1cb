/// \file
/// `tool_fixture`: a toolbox over the agents' fixture, and handlers that wait until the test lets them go on.
#pragma once

#include "agent/agent_fixture.hpp"

#include <sluice/agent/toolbox.hpp>
#include <sluice/runtime/sleep.hpp>

#include <asio/error.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cstddef>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::test {

using answer = expected<std::string, error>;
using results = std::vector<tool_result>;

inline llm::tool_call call_of(std::string tool, std::string arguments = "{}", std::string id = "call") {
  return llm::tool_call(std::move(id), std::move(tool), std::move(arguments));
}
/// `count` calls of one tool, with the ids `1`, `2`, ...
inline std::vector<llm::tool_call> calls_of(const std::string& tool, std::size_t count) {
  std::vector<llm::tool_call> all;
  for (std::size_t i = 1; i <= count; ++i) all.push_back(call_of(tool, "{}", std::to_string(i)));
  return all;
}

inline std::vector<std::string> texts(const results& of) {
  std::vector<std::string> all;
  for (const tool_result& each : of) all.push_back(each.text);
  return all;
}
inline std::size_t count(const results& of, tool_outcome outcome) {
  return static_cast<std::size_t>(
      std::count_if(of.begin(), of.end(), [outcome](const tool_result& each) { return each.outcome == outcome; }));
}

/// Where handlers wait for the test.
class waiting_room {
 public:
  explicit waiting_room(asio::io_context& loop) : loop_(loop) {}

  /// Waits to be let go, and gives `done`. A cancellation ends it as it ends most code: by an exception.
  asio::awaitable<answer> wait() {
    const auto here = enter();
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await pass(*here);
    co_await asio::this_coro::throw_if_cancelled(true);
    const bool let_go = here->let_go;
    leave(here);
    if (!let_go) throw std::system_error(asio::error::operation_aborted);
    co_return "done";
  }
  /// The same, deaf to cancellation.
  asio::awaitable<answer> wait_deaf() {
    const auto here = enter();
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!here->let_go) co_await pass(*here);
    co_await asio::this_coro::throw_if_cancelled(true);
    leave(here);
    co_return "done";
  }

  /// Handlers that wait now, and the most there were.
  [[nodiscard]] std::size_t inside() const { return places_.size(); }
  [[nodiscard]] std::size_t most() const { return most_; }
  /// Lets the first go on; the loop is to be run then.
  void let_one_go() {
    for (place& each : places_) {
      if (each.let_go) continue;
      each.let_go = true;
      each.timer.cancel();
      return;
    }
  }
  void let_all_go() {
    for (place& each : places_) {
      each.let_go = true;
      each.timer.cancel();
    }
  }

 private:
  struct place {
    explicit place(asio::io_context& loop) : timer(loop, asio::steady_timer::time_point::max()) {}
    asio::steady_timer timer;
    bool let_go = false;
  };

  std::list<place>::iterator enter() {
    places_.emplace_back(loop_);
    most_ = std::max(most_, places_.size());
    return std::prev(places_.end());
  }
  void leave(std::list<place>::iterator which) { places_.erase(which); }
  static asio::awaitable<void> pass(place& at) {
    asio::error_code aborted;
    co_await at.timer.async_wait(asio::redirect_error(asio::use_awaitable, aborted));
  }

  asio::io_context& loop_;
  std::list<place> places_;
  std::size_t most_ = 0;
};

class tool_fixture : public agent_fixture {
 public:
  tool_fixture() : tools(gate), room(loop) {}

  toolbox tools;
  waiting_room room;

  /// Adds a tool whose handler waits in the room.
  void add_waiting(const std::string& name, tool_limits limits = {}) {
    tools.add(
        llm::tool(name, "Waits."), [this](const llm::tool_arguments&) { return room.wait(); }, limits);
  }
  void add_deaf(const std::string& name, tool_limits limits = {}) {
    tools.add(
        llm::tool(name, "Waits, and does not listen."), [this](const llm::tool_arguments&) { return room.wait_deaf(); },
        limits);
  }
  /// Adds a tool that answers at once with its own name.
  void add_quick(const std::string& name, tool_limits limits = {}) {
    tools.add(
        llm::tool(name, "Answers."), [name](const llm::tool_arguments&) { return echo(name); }, limits);
  }

  void call(started<results>& into, run_scope& in, std::vector<llm::tool_call> calls, const tool_hooks& hooks = {}) {
    start(into, tools.all(in, std::move(calls), hooks));
  }
  /// Lets everybody go until the calls have their results.
  void finish(started<results>& calls) {
    for (int i = 0; i < 10'000 && !calls.ended; ++i) {
      room.let_all_go();
      run();
    }
  }
  /// Calls that are to be done without waiting for anything.
  results at_once(run_scope& in, std::vector<llm::tool_call> calls, const tool_hooks& hooks = {}) {
    started<results> done;
    call(done, in, std::move(calls), hooks);
    return done.value ? *std::move(done.value) : results();
  }

  static asio::awaitable<answer> echo(std::string text) { co_return text; }
};

}  // namespace sluice::agent::test
