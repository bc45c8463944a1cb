#include "agent/tools/tool_fixture.hpp"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using namespace std::chrono_literals;

namespace {

tool_limits timed(duration timeout) {
  tool_limits limits;
  limits.timeout = timeout;
  return limits;
}

asio::awaitable<void> deaf(tool_fixture& h, duration how_long) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await sleep_until(h.gate.time(), h.gate.in(how_long));
}

/// A call that its caller cancels at once; the second after that the caller's run is gone, and 20 s later all is over.
results cancelled_and_gone(tool_fixture& h, const std::string& tool, const tool_hooks& hooks) {
  started<results> calls;
  {
    auto run = std::make_unique<run_scope>(h.open());
    h.call(calls, *run, {call_of(tool)}, hooks);
    calls.cancel.emit(asio::cancellation_type::terminal);
    h.run();
    h.advance(1s);
    h.advance(1s);
    REQUIRE(calls.ended);
  }
  for (int i = 0; i < 20; ++i) h.advance(1s);
  return calls.value ? *std::move(calls.value) : results();
}

}  // namespace

TEST_CASE("no hook looks at the answer of a handler that cannot be cancelled and outlives its caller") {
  tool_fixture h;
  bool returned = false;
  h.tools.add(llm::tool("deaf", ""), [&](const llm::tool_arguments&) -> asio::awaitable<answer> {
    co_await deaf(h, 10s);
    returned = true;
    co_return "late";
  });
  int looked = 0;
  int told = 0;
  tool_hooks hooks;
  hooks.after = [&](run_scope&, tool_result&) -> asio::awaitable<void> {
    ++looked;
    co_return;
  };
  hooks.finished = [&](const tool_result&) { ++told; };
  cancelled_and_gone(h, "deaf", hooks);
  CHECK(returned);
  CHECK(looked == 0);
  CHECK(told == 1);
}

TEST_CASE("no hook looks at the answer of a call that was stopped by its timeout") {
  tool_fixture h;
  h.tools.add(
      llm::tool("deaf", ""),
      [&](const llm::tool_arguments&) -> asio::awaitable<answer> {
        co_await deaf(h, 2500ms);
        co_return "late";
      },
      timed(2s));
  int looked = 0;
  tool_hooks hooks;
  hooks.after = [&](run_scope&, tool_result&) -> asio::awaitable<void> {
    ++looked;
    co_return;
  };
  run_scope run = h.open();
  started<results> calls;
  h.call(calls, run, {call_of("deaf")}, hooks);
  h.advance(2s);
  CHECK_FALSE(calls.ended);
  h.advance(500ms);
  REQUIRE(calls.ended);
  CHECK(looked == 0);
  CHECK(calls.value->at(0).outcome == tool_outcome::timed_out);
  CHECK(calls.value->at(0).text == "tool \"deaf\" was stopped after 2 s, its time limit");
}

TEST_CASE("nobody is asked to approve a call that was stopped while another hook was asked") {
  tool_fixture h;
  tool_limits limits;
  limits.needs_approval = true;
  h.add_quick("guarded", limits);
  int asked = 0;
  std::string path;
  bool was_closed = false;
  tool_hooks hooks;
  hooks.before = [&](run_scope& run, const llm::tool_call&) -> asio::awaitable<expected<void, error>> {
    co_await deaf(h, 10s);
    // Its caller's scope is gone by now; its own is not.
    path = run.path();
    was_closed = !run.charge({.tool_calls = 1});
    co_return expected<void, error>();
  };
  hooks.approve = [&](run_scope&, const llm::tool_call&) -> asio::awaitable<bool> {
    ++asked;
    co_return true;
  };
  cancelled_and_gone(h, "guarded", hooks);
  CHECK(path == "root");
  CHECK(was_closed);
  CHECK(asked == 0);
}

TEST_CASE("a caller that is dropped is told nothing any more") {
  tool_fixture h;
  h.add_deaf("deaf");
  int told = 0;
  tool_hooks hooks;
  hooks.after = [&](run_scope&, tool_result&) -> asio::awaitable<void> {
    ++told;
    co_return;
  };
  hooks.finished = [&](const tool_result&) { ++told; };
  run_scope run = h.open();
  started<results> calls;
  std::optional<asio::io_context> callers(std::in_place);
  asio::co_spawn(*callers, h.tools.all(run, {call_of("deaf")}, hooks),
                 [&](std::exception_ptr, results) { calls.ended = true; });
  callers->poll();
  h.run();
  REQUIRE(h.room.inside() == 1);
  callers.reset();
  h.room.let_all_go();
  h.run();
  CHECK(h.room.inside() == 0);
  CHECK(told == 0);
  CHECK_FALSE(calls.ended);
}

TEST_CASE("the hook after a call changes what is told, not which call it was") {
  tool_fixture h;
  h.add_quick("quick");
  tool_hooks hooks;
  hooks.after = [](run_scope&, tool_result& result) -> asio::awaitable<void> {
    CHECK(result.call.id == "mine");
    CHECK(result.text == "quick");
    result.call = call_of("other", "{}", "not mine");
    result.text = "changed";
    result.outcome = tool_outcome::failed;
    co_return;
  };
  run_scope run = h.open();
  const results all = h.at_once(run, {call_of("quick", "{}", "mine")}, hooks);
  REQUIRE(all.size() == 1);
  CHECK(all[0].call.id == "mine");
  CHECK(all[0].call.name == "quick");
  CHECK(all[0].text == "changed");
  CHECK(all[0].outcome == tool_outcome::failed);
}

TEST_CASE("what fails without a word is told with one, by its own name") {
  tool_fixture h;
  tool_limits guarded;
  guarded.needs_approval = true;
  h.add_quick("quick");
  h.add_quick("guarded", guarded);
  h.tools.add(llm::tool("throws", ""),
              [](const llm::tool_arguments&) -> asio::awaitable<answer> { throw std::runtime_error(""); });
  h.tools.add(llm::tool("fails", ""), [](const llm::tool_arguments&) -> asio::awaitable<answer> {
    co_return unexpected<error>(error(errc::refused, ""));
  });
  run_scope run = h.open();
  CHECK(texts(h.at_once(run, {call_of("throws"), call_of("fails")})) ==
        std::vector<std::string>{"the tool failed without a word", "the tool failed without a word"});
  tool_hooks hooks;
  hooks.approve = [](run_scope&, const llm::tool_call&) -> asio::awaitable<bool> { throw 1; };
  CHECK(texts(h.at_once(run, {call_of("guarded")}, hooks)) ==
        std::vector<std::string>{"the approval of the call threw something that is no exception"});
  hooks.before = [](run_scope&, const llm::tool_call&) -> asio::awaitable<expected<void, error>> {
    throw std::runtime_error("");
  };
  CHECK(texts(h.at_once(run, {call_of("quick")}, hooks)) ==
        std::vector<std::string>{"the hook before the call failed without a word"});
  hooks.before = [](run_scope&, const llm::tool_call&) -> asio::awaitable<expected<void, error>> {
    co_return unexpected<error>(error(errc::refused, ""));
  };
  CHECK(texts(h.at_once(run, {call_of("quick")}, hooks)) ==
        std::vector<std::string>{"the hook before the call refused it without a word"});
}
