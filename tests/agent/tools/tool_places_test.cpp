#include "agent/tools/tool_places.hpp"

#include "agent/tools/tool_fixture.hpp"

#include <doctest/doctest.h>
#include <asio/cancellation_type.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Places at a tool that are held by handlers which do not stop. Such a handler is told to stop after a second, and
// abandoned after one more.

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* one_held = "tool \"db\" cannot run now: its only place is held by a call that was told to stop ";

tool_limits limited(std::int64_t concurrency) {
  tool_limits limits;
  limits.concurrency = concurrency;
  limits.timeout = 1s;
  return limits;
}

std::string held_for(const std::string& since) { return one_held + since + " ago, and has not; go on without it"; }

}  // namespace

TEST_CASE("the only place is held by a handler that does not stop: who comes is answered at once") {
  tool_fixture h;
  h.add_deaf("db", limited(1));
  run_scope run = h.open();
  started<results> first;
  h.call(first, run, {call_of("db")});
  h.advance(1s);
  h.advance(1s);
  REQUIRE(first.ended);
  CHECK(first.value->at(0).outcome == tool_outcome::timed_out);

  h.advance(60s);
  run_scope other = h.open();
  const auto refused = h.at_once(other, {call_of("db")});
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].outcome == tool_outcome::refused);
  CHECK(refused[0].text == held_for("61 s"));
  CHECK(refused[0].began == never);
  CHECK(other.balance().spent.tool_calls == 0);
  // It was not run: the place protects what is still in use.
  CHECK(h.room.most() == 1);

  // When it has ended after all, the place is free.
  h.room.let_all_go();
  h.run();
  CHECK(h.room.inside() == 0);
  started<results> again;
  h.call(again, other, calls_of("db", 2));
  CHECK(h.room.inside() == 1);
  h.finish(again);
  REQUIRE(again.value);
  CHECK(count(*again.value, tool_outcome::answered) == 2);
  CHECK(h.room.most() == 1);
}

TEST_CASE("calls that wait when the last place is lost are answered then, of this turn and of others") {
  tool_fixture h;
  h.add_deaf("db", limited(1));
  h.add_quick("quick");
  run_scope run = h.open();
  run_scope other = h.open();
  started<results> first;
  std::vector<llm::tool_call> mixed = calls_of("db", 3);
  mixed.push_back(call_of("quick"));
  h.call(first, run, std::move(mixed));
  started<results> second;
  h.call(second, other, {call_of("db")});
  h.advance(1s);
  // Told to stop: it may yet.
  h.advance(1s - 1ns);
  CHECK_FALSE(first.ended);
  CHECK_FALSE(second.ended);
  h.advance(1ns);
  REQUIRE(first.value);
  REQUIRE(second.value);
  CHECK(first.value->at(0).outcome == tool_outcome::timed_out);
  for (const std::size_t which : {1U, 2U}) {
    CHECK(first.value->at(which).outcome == tool_outcome::refused);
    CHECK(first.value->at(which).text == held_for("1 s"));
  }
  CHECK(first.value->at(3).text == "quick");
  CHECK(second.value->at(0).outcome == tool_outcome::refused);
  CHECK(second.value->at(0).text == held_for("1 s"));
  CHECK(h.room.most() == 1);
  h.room.let_all_go();
  h.run();
}

TEST_CASE("a handler that stops when it is told to, late but within its second, gives its place to who waits") {
  tool_fixture h;
  h.add_deaf("db", limited(1));
  run_scope run = h.open();
  run_scope other = h.open();
  started<results> first;
  started<results> second;
  h.call(first, run, {call_of("db")});
  h.call(second, other, {call_of("db")});
  h.advance(1s);
  h.advance(900ms);
  h.room.let_one_go();
  h.run();
  REQUIRE(first.ended);
  CHECK_FALSE(second.ended);
  CHECK(h.room.inside() == 1);
  h.finish(second);
  CHECK(second.value->at(0).outcome == tool_outcome::answered);
}

TEST_CASE("while one place of two is not lost, calls wait for it") {
  tool_fixture h;
  h.add_deaf("db", limited(2));
  run_scope run = h.open();
  run_scope other = h.open();
  run_scope third = h.open();
  started<results> first;
  started<results> second;
  started<results> waits;
  h.call(first, run, {call_of("db")});
  h.advance(500ms);
  h.call(second, other, {call_of("db")});
  h.call(waits, third, {call_of("db")});
  for (int each = 0; each < 3; ++each) h.advance(500ms);
  CHECK(first.ended);
  // The second was told to stop half a second ago.
  CHECK_FALSE(second.ended);
  CHECK_FALSE(waits.ended);
  SUBCASE("it comes back") {
    h.room.let_all_go();
    h.run();
    CHECK(h.room.inside() == 1);
    h.finish(waits);
    CHECK(waits.value->at(0).outcome == tool_outcome::answered);
  }
  SUBCASE("it is lost too") {
    h.advance(500ms);
    CHECK(second.ended);
    REQUIRE(waits.value);
    CHECK(waits.value->at(0).outcome == tool_outcome::refused);
    CHECK(waits.value->at(0).text ==
          "tool \"db\" cannot run now: all its 2 places are held by calls that were told to stop, the last of them 1 s "
          "ago, and have not; go on without it");
    // One of the two ends: that is enough.
    h.room.let_one_go();
    h.run();
    CHECK(h.room.inside() == 1);
    started<results> again;
    h.call(again, third, {call_of("db")});
    CHECK(h.room.inside() == 2);
    h.finish(again);
    CHECK(again.value->at(0).outcome == tool_outcome::answered);
  }
  h.room.let_all_go();
  h.run();
  CHECK(h.room.inside() == 0);
  CHECK(h.room.most() == 2);
}

TEST_CASE("abandoned since its caller, its run or the run's deadline stopped it: the same") {
  tool_fixture h;
  tool_limits limits = limited(1);
  limits.timeout = 0s;
  h.add_deaf("db", limits);
  run_scope run = h.open(run_settings("root").until(h.time.now() + 5s));
  run_scope other = h.open();
  started<results> first;
  started<results> second;
  h.call(first, run, {call_of("db")});
  h.call(second, other, {call_of("db")});
  SUBCASE("its caller") { first.cancel.emit(asio::cancellation_type::terminal); }
  SUBCASE("its run") { run.cancel(); }
  SUBCASE("the deadline") { h.advance(5s); }
  h.run();
  CHECK_FALSE(second.ended);
  h.advance(1s);
  CHECK(first.ended);
  REQUIRE(second.value);
  CHECK(second.value->at(0).text == held_for("1 s"));
  h.room.let_all_go();
  h.run();
  CHECK(h.room.inside() == 0);
}

TEST_CASE("a caller that is cancelled while it waits for a place leaves the queue") {
  tool_fixture h;
  h.add_deaf("db", limited(1));
  run_scope run = h.open();
  run_scope other = h.open();
  started<results> first;
  started<results> second;
  h.call(first, run, {call_of("db")});
  h.call(second, other, {call_of("db")});
  second.cancel.emit(asio::cancellation_type::terminal);
  h.run();
  REQUIRE(second.value);
  CHECK(second.value->at(0).outcome == tool_outcome::cancelled);
  h.advance(1s);
  h.advance(1s);
  CHECK(first.ended);
  h.room.let_all_go();
  h.run();
}

TEST_CASE("a handler that ends at any step around the loss of its place: nobody waits for a place that is free") {
  for (int step = 0; step < 30; ++step) {
    CAPTURE(step);
    tool_fixture h;
    h.add_deaf("db", limited(1));
    run_scope run = h.open();
    run_scope other = h.open();
    started<results> first;
    started<results> second;
    h.call(first, run, calls_of("db", 2));
    h.call(second, other, {call_of("db")});
    h.advance(1s);
    h.time.advance(1s);
    for (int each = 0; each < step; ++each) {
      h.loop.restart();
      h.loop.poll_one();
    }
    h.room.let_one_go();
    h.finish(first);
    h.finish(second);
    REQUIRE(first.value);
    REQUIRE(second.value);
    CHECK(first.value->at(0).outcome == tool_outcome::timed_out);
    for (const tool_result* each : {&first.value->at(1), &second.value->at(0)}) {
      CHECK((each->outcome == tool_outcome::answered || each->text == held_for("1 s")));
    }
    CHECK(h.room.most() == 1);
    started<results> third;
    h.call(third, other, {call_of("db")});
    CHECK(h.room.inside() == 1);
    h.finish(third);
    CHECK(third.value->at(0).outcome == tool_outcome::answered);
  }
}
