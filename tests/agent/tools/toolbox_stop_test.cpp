#include "agent/tools/tool_fixture.hpp"

#include <doctest/doctest.h>

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

const std::string cancelled_words = "the call was cancelled before it had ended";
const std::string late_words = "the time of the run was up before the call had ended";

}  // namespace

TEST_CASE("a call that runs into its timeout is cancelled, and the model is told") {
  tool_fixture h;
  h.add_waiting("slow", timed(5s));
  h.add_waiting("slower", timed(60s));
  run_scope run = h.open();
  started<results> calls;
  h.call(calls, run, {call_of("slow"), call_of("slower")});
  h.advance(4s);
  CHECK(h.room.inside() == 2);
  h.advance(1s);
  CHECK(h.room.inside() == 1);
  CHECK_FALSE(calls.ended);
  h.finish(calls);
  CHECK(calls.value->at(0).outcome == tool_outcome::timed_out);
  CHECK(calls.value->at(0).text == "tool \"slow\" was stopped after 5 s, its time limit");
  CHECK(calls.value->at(0).ran == 5s);
  CHECK(calls.value->at(1).outcome == tool_outcome::answered);
}

TEST_CASE("the lanes of calls that were stopped are made up for") {
  tool_fixture h;
  h.add_waiting("slow", timed(1s));
  run_settings how("root");
  how.width = 2;
  run_scope run = h.open(how);
  started<results> calls;
  h.call(calls, run, calls_of("slow", 7));
  for (int i = 0; i < 4; ++i) {
    CHECK(h.room.inside() == (i < 3 ? 2 : 1));
    h.advance(1s);
  }
  REQUIRE(calls.ended);
  CHECK(count(*calls.value, tool_outcome::timed_out) == 7);
  CHECK(h.room.most() == 2);
}

TEST_CASE("a handler that ignores its cancellation is abandoned after a second, and can spend nothing") {
  tool_fixture h;
  run_scope* inner = nullptr;
  tool_context* known = nullptr;
  std::string seen_later;
  h.tools.add(
      llm::tool("deaf", ""),
      [&](tool_context& context, const llm::tool_arguments& arguments) -> asio::awaitable<answer> {
        inner = &context.run;
        known = &context;
        const auto waited = co_await h.room.wait_deaf();
        // All that it was given is still there.
        seen_later = context.call.id + (arguments.has("x") ? " x" : "") +
                     (context.run.charge({.money = 1}) ? " paid" : " closed");
        co_return waited;
      },
      timed(5s));
  run_scope run = h.open();
  std::vector<std::string> told;
  tool_hooks hooks;
  hooks.finished = [&told](const tool_result& result) { told.push_back(result.text); };
  started<results> calls;
  h.call(calls, run, {call_of("deaf", R"({"x":1})")}, hooks);
  h.advance(5s);
  CHECK_FALSE(calls.ended);
  CHECK(inner->cancelled());
  h.advance(999ms);
  CHECK_FALSE(calls.ended);
  h.advance(1ms);
  REQUIRE(calls.ended);
  CHECK(calls.value->at(0).outcome == tool_outcome::timed_out);
  CHECK(calls.value->at(0).text ==
        "tool \"deaf\" was stopped after 5 s, its time limit; it has not stopped, and goes on for nobody");
  CHECK(calls.value->at(0).ran == 6s);
  CHECK(told == std::vector<std::string>{calls.value->at(0).text});
  h.room.let_all_go();
  h.run();
  CHECK(seen_later == "call x closed");
  CHECK(told.size() == 1);
  CHECK(known != nullptr);
  CHECK(run.balance().spent.money == 0);
}

TEST_CASE("an abandoned handler takes no width from others") {
  tool_fixture h;
  h.add_deaf("deaf", timed(1s));
  h.add_quick("quick");
  run_settings how("root");
  how.width = 1;
  run_scope run = h.open(how);
  started<results> calls;
  h.call(calls, run, {call_of("deaf"), call_of("quick")});
  h.advance(1s);
  h.advance(1s);
  REQUIRE(calls.ended);
  CHECK(texts(*calls.value).at(1) == "quick");
  CHECK(h.room.inside() == 1);
  h.room.let_all_go();
  h.run();
}

TEST_CASE("when the caller is cancelled everything is cancelled and waited for, and told so") {
  tool_fixture h;
  h.add_waiting("wait");
  h.add_deaf("deaf");
  run_settings how("root");
  how.width = 3;
  run_scope run = h.open(how);
  std::vector<llm::tool_call> mixed = calls_of("wait", 2);
  mixed.push_back(call_of("deaf"));
  mixed.push_back(call_of("wait"));
  mixed.push_back(call_of("nobody"));
  started<results> calls;
  h.call(calls, run, std::move(mixed));
  CHECK(h.room.inside() == 3);
  calls.cancel.emit(asio::cancellation_type::terminal);
  h.run();
  CHECK(h.room.inside() == 1);
  CHECK_FALSE(calls.ended);
  h.advance(1s);
  REQUIRE(calls.ended);
  CHECK_FALSE(calls.thrown);
  REQUIRE(calls.value);
  CHECK(texts(*calls.value) ==
        std::vector<std::string>{cancelled_words, cancelled_words,
                                 cancelled_words + "; it has not stopped, and goes on for nobody", cancelled_words,
                                 R"(no tool named "nobody"; there are: wait, deaf)"});
  CHECK(count(*calls.value, tool_outcome::cancelled) == 4);
  h.room.let_all_go();
  h.run();
}

TEST_CASE("the caller's next wait throws after its cancellation") {
  tool_fixture h;
  h.add_waiting("wait");
  run_scope run = h.open();
  bool got_results = false;
  bool went_on = false;
  const auto body = [&]() -> asio::awaitable<results> {
    auto made = calls_of("wait", 1);
    auto done = co_await h.tools.all(run, std::move(made));
    got_results = count(done, tool_outcome::cancelled) == 1;
    auto again = calls_of("wait", 1);
    done = co_await h.tools.all(run, std::move(again));
    went_on = true;
    co_return done;
  };
  started<results> calls;
  h.start(calls, body());
  calls.cancel.emit(asio::cancellation_type::terminal);
  h.run();
  CHECK(calls.ended);
  CHECK(calls.thrown);
  CHECK(got_results);
  CHECK_FALSE(went_on);
}

TEST_CASE("a run that is cancelled in the middle: each call has its result") {
  tool_fixture h;
  h.add_waiting("wait");
  run_settings how("root");
  how.width = 2;
  run_scope run = h.open(how);
  run_scope child = run.child().value();
  started<results> calls;
  h.call(calls, child, calls_of("wait", 5));
  h.room.let_one_go();
  h.run();
  run.cancel();
  h.run();
  REQUIRE(calls.ended);
  CHECK(calls.value->at(0).outcome == tool_outcome::answered);
  CHECK(count(*calls.value, tool_outcome::cancelled) == 4);
  for (std::size_t i = 1; i < 5; ++i) CHECK(calls.value->at(i).text == cancelled_words);
}

TEST_CASE("in a run that was cancelled or closed nothing runs, and all is answered") {
  tool_fixture h;
  h.add_quick("quick");
  run_scope run = h.open();
  run.cancel();
  auto done = h.at_once(run, calls_of("quick", 3));
  CHECK(count(done, tool_outcome::cancelled) == 3);

  run_scope parent = h.open();
  run_scope child = parent.child().value();
  { const run_scope gone = std::move(parent); }
  done = h.at_once(child, calls_of("quick", 2));
  CHECK(count(done, tool_outcome::cancelled) == 2);
  CHECK(done.at(0).began == never);
}

TEST_CASE("after a deadline that has passed nothing runs, and all is answered") {
  tool_fixture h;
  h.add_quick("quick");
  run_scope run = h.open(run_settings("root").until(h.time.now() + 5s));
  h.advance(5s);
  const auto done = h.at_once(run, calls_of("quick", 3));
  CHECK(count(done, tool_outcome::timed_out) == 3);
  CHECK(done.at(0).text == late_words);
  CHECK(run.balance().spent.tool_calls == 0);
}

TEST_CASE("when the run's deadline comes, what runs is stopped and what waits is not begun") {
  tool_fixture h;
  h.add_waiting("wait");
  run_settings how("root");
  how.width = 2;
  how.until(h.time.now() + 5s);
  run_scope run = h.open(how);
  started<results> calls;
  h.call(calls, run, calls_of("wait", 4));
  h.advance(5s);
  REQUIRE(calls.ended);
  CHECK(count(*calls.value, tool_outcome::timed_out) == 4);
  CHECK(calls.value->at(0).text == late_words);
  CHECK(calls.value->at(0).began != never);
  CHECK(calls.value->at(3).began == never);
}

TEST_CASE("a turn that waits for the width of others stops when it is told to") {
  tool_fixture h;
  h.add_waiting("wait");
  run_settings how("root");
  how.width = 1;
  run_scope run = h.open(how);
  started<results> first;
  h.call(first, run, calls_of("wait", 1));
  started<results> second;
  h.call(second, run, calls_of("wait", 2));
  started<results> third;
  h.call(third, run, calls_of("wait", 1));
  second.cancel.emit(asio::cancellation_type::terminal);
  h.run();
  REQUIRE(second.ended);
  CHECK(count(*second.value, tool_outcome::cancelled) == 2);
  h.room.let_all_go();
  h.run();
  CHECK(first.ended);
  CHECK(h.room.inside() == 1);
  h.finish(third);
  CHECK(third.value->at(0).outcome == tool_outcome::answered);
}

TEST_CASE("a call that waits for a place at its tool is cancelled there") {
  tool_fixture h;
  tool_limits limits;
  limits.concurrency = 1;
  h.add_waiting("db", limits);
  run_scope run = h.open();
  run_scope other = h.open();
  run_scope hasty = h.open(run_settings("hasty").until(h.time.now() + 2s));
  started<results> first;
  h.call(first, run, {call_of("db")});
  started<results> second;
  h.call(second, other, {call_of("db")});
  started<results> third;
  h.call(third, hasty, {call_of("db")});
  second.cancel.emit(asio::cancellation_type::terminal);
  h.run();
  REQUIRE(second.ended);
  CHECK(second.value->at(0).outcome == tool_outcome::cancelled);
  CHECK(second.value->at(0).text == cancelled_words);
  CHECK(other.balance().spent.tool_calls == 0);
  h.advance(2s);
  REQUIRE(third.ended);
  CHECK(third.value->at(0).outcome == tool_outcome::timed_out);
  h.finish(first);
  CHECK(first.value->at(0).outcome == tool_outcome::answered);
}

TEST_CASE("hooks that wait are stopped as handlers are") {
  tool_fixture h;
  tool_limits limits;
  limits.needs_approval = true;
  h.add_quick("pay", limits);
  run_scope run = h.open(run_settings("root").until(h.time.now() + 5s));
  tool_hooks hooks;
  hooks.approve = [&](run_scope&, const llm::tool_call&) -> asio::awaitable<bool> {
    co_await h.room.wait();
    co_return true;
  };
  started<results> calls;
  h.call(calls, run, calls_of("pay", 3), hooks);
  CHECK(h.room.inside() == 3);
  h.advance(5s);
  REQUIRE(calls.ended);
  CHECK(count(*calls.value, tool_outcome::timed_out) == 3);

  run_scope more = h.open();
  tool_hooks deaf;
  deaf.before = [&](run_scope&, const llm::tool_call&) -> asio::awaitable<expected<void, error>> {
    co_await h.room.wait_deaf();
    co_return expected<void, error>();
  };
  started<results> asked;
  h.call(asked, more, calls_of("pay", 2), deaf);
  CHECK(asked.ended);  // there is nobody to approve them
  hooks.before = deaf.before;
  started<results> stuck;
  h.call(stuck, more, calls_of("pay", 2), hooks);
  CHECK(h.room.inside() == 2);
  stuck.cancel.emit(asio::cancellation_type::terminal);
  h.run();
  CHECK_FALSE(stuck.ended);
  h.advance(1s);
  REQUIRE(stuck.ended);
  CHECK(count(*stuck.value, tool_outcome::cancelled) == 2);
  h.room.let_all_go();
  h.run();
  CHECK(more.balance().spent.tool_calls == 0);
}

TEST_CASE("a closed gate does not keep tools from running") {
  tool_fixture h;
  h.add_waiting("wait");
  run_scope run = h.open();
  started<results> calls;
  h.call(calls, run, calls_of("wait", 9));
  h.gate.close();
  h.finish(calls);
  CHECK(count(*calls.value, tool_outcome::answered) == 9);
}

TEST_CASE("stopped at any step, each call has exactly one result") {
  // What stops it, and after how many handlers have been let go.
  enum class by : std::uint8_t { caller, run, parent, gate, leave };
  for (const by how : {by::caller, by::run, by::parent, by::gate, by::leave}) {
    for (int step = 0; step < 14; ++step) {
      CAPTURE(step);
      tool_fixture h;
      tool_limits limits;
      limits.concurrency = 2;
      h.add_waiting("limited", limits);
      h.add_waiting("wait");
      h.add_quick("quick");
      h.tools.add(llm::tool("nested", ""),
                  [&](tool_context& context, const llm::tool_arguments&) -> asio::awaitable<answer> {
                    auto below = calls_of("wait", 2);
                    const auto done = co_await h.tools.all(context.run, std::move(below));
                    CHECK(done.size() == 2);
                    co_return std::to_string(count(done, tool_outcome::answered));
                  });
      run_settings settings("root");
      settings.width = 3;
      run_scope root = h.open(settings);
      run_scope run = root.child().value();
      std::vector<std::string> finished;
      tool_hooks hooks;
      hooks.before = [&](run_scope&, const llm::tool_call& call) -> asio::awaitable<expected<void, error>> {
        if (call.id == "asked") co_await h.room.wait();
        co_return expected<void, error>();
      };
      hooks.after = [&](run_scope&, tool_result& result) -> asio::awaitable<void> {
        if (result.call.id == "watched") co_await h.room.wait();
      };
      hooks.finished = [&](const tool_result& result) { finished.push_back(result.call.id); };
      started<results> calls;
      h.call(calls, run,
             {call_of("limited", "{}", "1"), call_of("nested", "{}", "2"), call_of("limited", "{}", "3"),
              call_of("quick", "{}", "watched"), call_of("wait", "{}", "asked"), call_of("limited", "{}", "4"),
              call_of("gone", "{}", "5")},
             hooks);
      for (int i = 0; i < step; ++i) {
        h.room.let_one_go();
        h.run();
      }
      started<leave_result> left;
      switch (how) {
        case by::caller:
          if (!calls.ended) calls.cancel.emit(asio::cancellation_type::terminal);
          break;
        case by::run: run.cancel(); break;
        case by::parent: root.cancel(); break;
        case by::gate: h.gate.close(); break;
        case by::leave: h.start(left, run.leave()); break;
      }
      h.run();
      if (how == by::gate) h.finish(calls);
      REQUIRE(calls.ended);
      REQUIRE(calls.value);
      REQUIRE(calls.value->size() == 7);
      for (const tool_result& each : *calls.value) {
        CHECK_FALSE(each.text.empty());
        CHECK(std::count(finished.begin(), finished.end(), each.call.id) == 1);
      }
      CHECK(finished.size() == 7);
      CHECK(calls.value->at(6).outcome == tool_outcome::invalid);
      if (how == by::leave) {
        CHECK(left.ended);
        CHECK(left.value->abandoned == 0);
      }
      h.run();
      CHECK(h.room.inside() == 0);
      // Everything was given back: a turn of another run has the whole width of its tree.
      run_scope next = root.child(run_settings("next")).value_or(h.open());
      started<results> more;
      h.call(more, next, calls_of("wait", 3));
      CHECK(h.room.inside() == 3);
      h.finish(more);
    }
  }
}

TEST_CASE("leaving the run stops its tools, and waits for them") {
  tool_fixture h;
  h.add_deaf("deaf");
  run_settings how("root");
  how.grace = 3s;
  run_scope run = h.open(how);
  started<results> calls;
  h.call(calls, run, calls_of("deaf", 2));
  started<leave_result> left;
  h.start(left, run.leave());
  h.advance(1s);
  CHECK(calls.ended);
  CHECK_FALSE(left.ended);
  h.advance(2s);
  REQUIRE(left.ended);
  CHECK(left.value->abandoned == 2);
  h.room.let_all_go();
  h.run();
}
