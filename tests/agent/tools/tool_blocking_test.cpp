#include "agent/tools/tool_fixture.hpp"

#include <doctest/doctest.h>

#include <asio/co_spawn.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;
using namespace std::chrono_literals;

namespace {

/// Blocking handlers wait here for the test, on the threads of a pool.
class blocking_fixture : public tool_fixture {
 public:
  explicit blocking_fixture(std::size_t threads) : pool(threads) {}
  ~blocking_fixture() { pool.join(); }

  asio::thread_pool pool;

  /// Runs the loop until the calls have their results.
  void wait_for(const started<results>& calls) {
    loop.restart();
    while (!calls.ended) loop.run_one();
  }
};

}  // namespace

TEST_CASE("plain code that blocks runs on its pool, and its answers come back in order") {
  blocking_fixture h(3);
  const auto loop_thread = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  h.tools.add_blocking(
      llm::tool("square", "", R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})"),
      h.pool.get_executor(), [&](const llm::tool_arguments& arguments) -> answer {
        if (std::this_thread::get_id() != loop_thread) ++elsewhere;
        const auto n = arguments.get<std::int64_t>("n");
        if (!n) return unexpected<error>(n.error());
        if (*n == 3) throw std::runtime_error("three is out of order");
        return std::to_string(*n * *n);
      });
  run_scope run = h.open();
  std::vector<llm::tool_call> made;
  for (int n = 1; n <= 20; ++n) made.push_back(call_of("square", R"({"n":)" + std::to_string(n) + "}"));
  made.push_back(call_of("square"));
  started<results> calls;
  h.call(calls, run, std::move(made));
  h.wait_for(calls);
  for (std::size_t n = 1; n <= 20; ++n) {
    CHECK(calls.value->at(n - 1).text == (n == 3 ? "three is out of order" : std::to_string(n * n)));
  }
  CHECK(calls.value->at(2).outcome == tool_outcome::failed);
  CHECK(calls.value->at(20).outcome == tool_outcome::invalid);
  CHECK(elsewhere == 20);
}

TEST_CASE("blocking code is not interrupted: its call is told late, and what it gives is dropped") {
  blocking_fixture h(1);
  std::promise<void> begun;
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future();
  tool_limits limits;
  limits.timeout = 5s;
  std::atomic<bool> returned{false};
  h.tools.add_blocking(
      llm::tool("stuck", ""), h.pool.get_executor(),
      [&](const llm::tool_arguments&) -> answer {
        begun.set_value();
        may_go_on.wait();
        returned = true;
        return "too late";
      },
      limits);
  run_scope run = h.open();
  started<results> calls;
  h.call(calls, run, {call_of("stuck")});
  begun.get_future().wait();
  h.advance(5s);
  CHECK_FALSE(calls.ended);
  h.advance(1s);
  REQUIRE(calls.ended);
  CHECK(calls.value->at(0).outcome == tool_outcome::timed_out);
  CHECK_FALSE(returned);
  go_on.set_value();
  started<leave_result> left;
  h.start(left, run.leave());
  h.loop.restart();
  while (!left.ended) h.loop.run_one();
  CHECK(left.value->abandoned == 0);
  CHECK(returned);
}

TEST_CASE("a pool that stops before it has run the code gives an error") {
  tool_fixture h;
  std::optional<asio::thread_pool> pool(std::in_place, 1U);
  std::promise<void> begun;
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future();
  h.tools.add_blocking(llm::tool("work", ""), pool->get_executor(), [&](const llm::tool_arguments&) -> answer {
    begun.set_value();
    may_go_on.wait();
    return "worked";
  });
  run_scope run = h.open();
  started<results> calls;
  h.call(calls, run, calls_of("work", 2));
  begun.get_future().wait();
  pool->stop();
  go_on.set_value();
  pool.reset();
  h.run();
  REQUIRE(calls.ended);
  CHECK(count(*calls.value, tool_outcome::answered) == 1);
  CHECK(count(*calls.value, tool_outcome::failed) == 1);
  CHECK(calls.value->at(1).text == "the pool of the tool was stopped");
}

TEST_CASE("tools on several threads: each call has its result, and the width holds") {
  // The loop itself has three threads here, and the handlers hop between them.
  asio::thread_pool threads(3);
  bulkhead gate(threads.get_executor(), policy({.slots = 4, .tokens = 100'000}));
  toolbox tools(gate);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto look = [&] {
    const int now = ++inside;
    int seen = most.load();
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
  };
  tools.add_blocking(llm::tool("block", ""), threads.get_executor(), [&](const llm::tool_arguments&) -> answer {
    look();
    --inside;
    return "blocked";
  });
  tools.add(llm::tool("quick", ""), [](const llm::tool_arguments&) { return tool_fixture::echo("quick"); });
  tool_limits limited;
  limited.concurrency = 2;
  tools.add_blocking(
      llm::tool("limited", ""), threads.get_executor(), [](const llm::tool_arguments&) { return answer("limited"); },
      limited);
  tools.add(llm::tool("nested", ""), [&](tool_context& context, const llm::tool_arguments&) -> asio::awaitable<answer> {
    auto below = calls_of("block", 3);
    const auto done = co_await tools.all(context.run, std::move(below));
    co_return std::to_string(count(done, tool_outcome::answered));
  });
  {
    run_settings how("root");
    how.width = 2;
    run_scope run = run_scope::open(gate, std::move(how)).value();
    const auto turn = [&](int which) -> asio::awaitable<results> {
      std::vector<llm::tool_call> made;
      for (int i = 0; i < 20; ++i) {
        const char* const names[] = {"block", "quick", "nested", "limited", "gone"};
        made.push_back(call_of(names[(i + which) % 5]));
      }
      co_return co_await tools.all(run, std::move(made));
    };
    std::vector<std::future<results>> turns;
    for (int i = 0; i < 6; ++i) turns.push_back(asio::co_spawn(threads, turn(i), asio::use_future));
    for (int i = 0; i < 6; ++i) {
      const results done = turns[static_cast<std::size_t>(i)].get();
      REQUIRE(done.size() == 20);
      CHECK(count(done, tool_outcome::answered) == 16);
      CHECK(count(done, tool_outcome::invalid) == 4);
      for (const tool_result& each : done) {
        if (each.call.name == "nested") CHECK(each.text == "3");
        if (!each.is_error() && each.call.name == "block") CHECK(each.text == "blocked");
      }
    }
    CHECK(most <= 2);
    // Turns that are stopped from another thread, sooner or later, end all the same.
    for (int round = 0; round < 40; ++round) {
      run_scope other = run_scope::open(gate).value();
      auto stopped = asio::co_spawn(threads, tools.all(other, calls_of("nested", 30)), asio::use_future);
      for (int i = 0; i < round; ++i) std::this_thread::yield();
      other.cancel();
      const results done = stopped.get();
      REQUIRE(done.size() == 30);
      CHECK(count(done, tool_outcome::answered) + count(done, tool_outcome::cancelled) == 30);
    }
  }
  threads.join();
}
