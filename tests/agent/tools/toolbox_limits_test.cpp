#include "agent/tools/tool_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using namespace std::chrono_literals;

namespace {

run_settings wide(std::int64_t width) {
  run_settings how("root");
  how.width = width;
  return how;
}

/// Tools that call tools: each handler of a level below the last makes `fan` calls of the next level in its own run.
class nested_fixture : public tool_fixture {
 public:
  nested_fixture(int depth, std::size_t fan) {
    for (int level = 0; level + 1 < depth; ++level) {
      tools.add(llm::tool("level" + std::to_string(level), ""),
                [this, level, fan](tool_context& context, const llm::tool_arguments&) {
                  return pass_on(context, level, fan);
                });
    }
    tools.add(llm::tool("level" + std::to_string(depth - 1), ""),
              [this](const llm::tool_arguments&) { return room.wait(); });
  }

 private:
  asio::awaitable<answer> pass_on(tool_context& context, int level, std::size_t fan) {
    const auto done = co_await tools.all(context.run, calls_of("level" + std::to_string(level + 1), fan));
    std::size_t leaves = 0;
    for (const tool_result& each : done) {
      if (!each.is_error()) leaves += each.text == "done" ? 1 : std::stoul(each.text);
    }
    co_return std::to_string(leaves);
  }
};

}  // namespace

TEST_CASE("one turn asks for 792 tools: bounded, all answered, in order") {
  tool_fixture h;
  h.tools.add(llm::tool("say", "", R"({"type":"object","properties":{"n":{"type":"integer"}}})"),
              [&h](const llm::tool_arguments& arguments) -> asio::awaitable<answer> {
                const auto n = arguments.get<std::int64_t>("n");
                const auto waited = co_await h.room.wait();
                if (!waited) co_return waited;
                co_return std::to_string(*n);
              });
  run_scope run = h.open();
  std::vector<llm::tool_call> calls;
  for (int i = 0; i < 792; ++i)
    calls.push_back(call_of("say", R"({"n":)" + std::to_string(i) + "}", std::to_string(i)));
  started<results> done;
  h.call(done, run, std::move(calls));
  CHECK(h.room.inside() == 8);
  h.finish(done);
  REQUIRE(done.value);
  REQUIRE(done.value->size() == 792);
  CHECK(h.room.most() == 8);
  for (std::size_t i = 0; i < 792; ++i) {
    REQUIRE(done.value->at(i).text == std::to_string(i));
    REQUIRE(done.value->at(i).call.id == std::to_string(i));
  }
  CHECK(run.balance().spent.tool_calls == 792);
}

TEST_CASE("calls that answer at once are as many") {
  tool_fixture h;
  h.add_quick("quick");
  run_scope run = h.open();
  const auto done = h.at_once(run, calls_of("quick", 792));
  CHECK(done.size() == 792);
  CHECK(count(done, tool_outcome::answered) == 792);
}

TEST_CASE("limit of 9 calls, width 8, twice: exactly 9") {
  tool_fixture h;
  tool_limits limits;
  limits.calls_per_run = 9;
  h.add_waiting("search", limits);
  run_scope run = h.open();
  // The limit is the tree's, whoever calls.
  run_scope child = run.child().value();
  started<results> first;
  started<results> second;
  h.call(first, run, calls_of("search", 8));
  h.call(second, child, calls_of("search", 8));
  h.finish(first);
  h.finish(second);
  CHECK(count(*first.value, tool_outcome::answered) == 8);
  CHECK(count(*second.value, tool_outcome::answered) == 1);
  CHECK(count(*second.value, tool_outcome::refused) == 7);
  CHECK(second.value->at(0).outcome == tool_outcome::answered);
  CHECK(second.value->at(7).text == R"(tool "search" may be called 9 times in a run, and has been; go on without it)");
  CHECK(run.balance().spent.tool_calls == 9);

  run_scope other = h.open();
  started<results> third;
  h.call(third, other, {call_of("search")});
  CHECK(h.room.inside() == 1);
  h.finish(third);
}

TEST_CASE("a tool that may never be called is refused") {
  tool_fixture h;
  tool_limits limits;
  limits.calls_per_run = 0;
  h.add_quick("never", limits);
  run_scope run = h.open();
  CHECK(h.at_once(run, {call_of("never")}).at(0).outcome == tool_outcome::refused);
}

TEST_CASE("depth 3 with width 5: one global bound, not 125") {
  nested_fixture h(3, 5);
  run_scope run = h.open(wide(5));
  started<results> calls;
  h.call(calls, run, calls_of("level0", 5));
  CHECK(h.room.inside() >= 1);
  h.finish(calls);
  REQUIRE(calls.value);
  CHECK(texts(*calls.value) == std::vector<std::string>(5, "25"));
  CHECK(h.room.most() == 5);
  CHECK(run.balance().spent.tool_calls == 5 + 25 + 125);
}

TEST_CASE("with a width of 1 nested calls get on all the same") {
  nested_fixture h(6, 2);
  run_scope run = h.open(wide(1));
  started<results> calls;
  h.call(calls, run, calls_of("level0", 2));
  CHECK(h.room.inside() == 1);
  h.finish(calls);
  REQUIRE(calls.value);
  CHECK(texts(*calls.value) == std::vector<std::string>(2, "32"));
  CHECK(h.room.most() == 1);
}

TEST_CASE("turns of several runs of a tree share its width, and have their turn") {
  tool_fixture h;
  h.add_waiting("wait");
  run_scope run = h.open(wide(2));
  run_scope one = run.child().value();
  run_scope other = run.child().value();
  started<results> first;
  started<results> second;
  h.call(first, one, calls_of("wait", 4));
  h.call(second, other, calls_of("wait", 4));
  CHECK(h.room.inside() == 2);
  h.room.let_one_go();
  h.run();
  h.room.let_one_go();
  h.run();
  CHECK(one.balance().spent.tool_calls + other.balance().spent.tool_calls == 4);
  CHECK(other.balance().spent.tool_calls >= 1);
  h.finish(first);
  h.finish(second);
  CHECK(h.room.most() == 2);
  CHECK(count(*first.value, tool_outcome::answered) == 4);
  CHECK(count(*second.value, tool_outcome::answered) == 4);
}

TEST_CASE("a child may be narrower than its root, not wider") {
  tool_fixture h;
  h.add_waiting("wait");
  run_scope run = h.open(wide(3));
  run_scope narrow = run.child(wide(1)).value();
  run_scope broad = run.child(wide(100)).value();
  started<results> first;
  h.call(first, narrow, calls_of("wait", 4));
  CHECK(h.room.inside() == 1);
  started<results> second;
  h.call(second, broad, calls_of("wait", 4));
  CHECK(h.room.inside() == 3);
  h.finish(first);
  h.finish(second);
  CHECK(h.room.most() == 3);
}

TEST_CASE("a tool's own concurrency holds over all runs, and does not keep other tools of the turn from running") {
  tool_fixture h;
  tool_limits limits;
  limits.concurrency = 2;
  h.add_waiting("db", limits);
  h.add_quick("quick");
  run_scope run = h.open();
  run_scope other = h.open();
  started<results> first;
  std::vector<llm::tool_call> mixed = calls_of("db", 10);
  mixed.push_back(call_of("quick"));
  h.call(first, run, std::move(mixed));
  started<results> second;
  h.call(second, other, calls_of("db", 2));
  CHECK(h.room.inside() == 2);
  // Two that run, and the one beside them.
  CHECK(run.balance().spent.tool_calls == 3);
  CHECK(other.balance().spent.tool_calls == 0);
  h.finish(first);
  h.finish(second);
  CHECK(h.room.most() == 2);
  CHECK(count(*first.value, tool_outcome::answered) == 11);
  CHECK(count(*second.value, tool_outcome::answered) == 2);
}

TEST_CASE("waiting for a place at a tool does not count as its time") {
  tool_fixture h;
  tool_limits limits;
  limits.concurrency = 1;
  limits.timeout = 10s;
  h.add_waiting("db", limits);
  run_scope run = h.open();
  run_scope other = h.open();
  started<results> first;
  h.call(first, run, {call_of("db")});
  started<results> second;
  h.call(second, other, {call_of("db")});
  h.advance(9s);
  h.room.let_one_go();
  h.run();
  CHECK(first.ended);
  h.advance(9s);
  CHECK_FALSE(second.ended);
  h.finish(second);
  CHECK(second.value->at(0).outcome == tool_outcome::answered);
  CHECK(second.value->at(0).ran == 9s);
  CHECK(second.value->at(0).began == first.value->at(0).began + 9s);
}

TEST_CASE("more urgent work has a place at a tool first") {
  tool_fixture h;
  tool_limits limits;
  limits.concurrency = 1;
  std::vector<std::string> order;
  h.tools.add(
      llm::tool("db", ""),
      [&](tool_context& context, const llm::tool_arguments&) {
        order.push_back(context.run.path());
        return h.room.wait();
      },
      limits);
  run_scope a = h.open(run_settings("a"));
  run_scope b = h.open(run_settings("b").as(batch));
  run_scope c = h.open(run_settings("c"));
  started<results> first;
  started<results> second;
  started<results> third;
  h.call(first, a, {call_of("db")});
  h.call(second, b, {call_of("db")});
  h.call(third, c, {call_of("db")});
  for (started<results>* each : {&first, &second, &third}) h.finish(*each);
  CHECK(order == std::vector<std::string>{"a/tool:db", "c/tool:db", "b/tool:db"});
}

TEST_CASE("never more run than the run can pay") {
  tool_fixture h;
  tool_limits limits;
  limits.money = 30;
  h.add_waiting("paid", limits);
  run_limits most;
  most.tool_calls = 5;
  most.money = 100;
  run_scope run = h.open(run_settings("root").limit(most));
  started<results> calls;
  h.call(calls, run, calls_of("paid", 8));
  CHECK(h.room.inside() == 3);
  h.finish(calls);
  CHECK(count(*calls.value, tool_outcome::answered) == 3);
  CHECK(count(*calls.value, tool_outcome::refused) == 5);
  CHECK(run.balance().spent.tool_calls == 3);
  CHECK(run.balance().spent.money == 90);
  // It names the run and the limit.
  const std::string& why = calls.value->at(3).text;
  CAPTURE(why);
  CHECK(why.find("root") != std::string::npos);
  CHECK(why.find("money") != std::string::npos);
  CHECK(calls.value->at(3).began == never);
}

TEST_CASE("a budget of no tool calls refuses all") {
  tool_fixture h;
  h.add_quick("quick");
  run_limits none;
  none.tool_calls = 0;
  run_scope run = h.open(run_settings("root").limit(none));
  const auto done = h.at_once(run, calls_of("quick", 3));
  CHECK(count(done, tool_outcome::refused) == 3);
  CHECK(run.balance().spent.tool_calls == 0);
}

TEST_CASE("a tool that calls itself while its only place is taken is told so, and does not hang") {
  tool_fixture h;
  tool_limits limits;
  limits.concurrency = 1;
  std::string inner;
  h.tools.add(
      llm::tool("again", ""),
      [&](tool_context& context, const llm::tool_arguments&) -> asio::awaitable<answer> {
        auto below = co_await h.tools.all(context.run, calls_of("again", 1));
        inner = below.at(0).text;
        co_return "outer";
      },
      limits);
  run_scope run = h.open();
  const auto done = h.at_once(run, {call_of("again")});
  REQUIRE(done.size() == 1);
  CHECK(done[0].text == "outer");
  CHECK(inner.find("would wait for ever") != std::string::npos);
}
