// Being told that a run has spent so much of its budget; and charges at a live gate.
#include "runtime/house.hpp"

#include <sluice/core/replay.hpp>

#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

using percents = std::vector<std::uint32_t>;

struct spacious : house {
  spacious() : house(plain({.slots = 100, .tokens = 100'000})) {}

  run_id open(percents& into, const run_options& what) {
    const auto opened = gate.open_run(what, [&into](std::uint32_t percent) { into.push_back(percent); });
    REQUIRE(opened);
    return *opened;
  }
};

/// A listener that is counted: how often it was called, and whether it still exists.
struct witness {
  std::shared_ptr<int> alive = std::make_shared<int>(0);
  budget_listener listener() {
    return [count = alive](std::uint32_t) { ++*count; };
  }
  [[nodiscard]] bool gone() const { return alive.use_count() == 1; }
  [[nodiscard]] int calls() const { return *alive; }
};

constexpr spending of_tools(std::int64_t many) { return {.tool_calls = many}; }

}  // namespace

TEST_CASE_FIXTURE(spacious, "thresholds are told by a post, in rising order, each once") {
  percents told;
  const run_id run = open(told, {.limit = {.tool_calls = 100}});
  CHECK(gate.charge_run(run, of_tools(49)));
  poll();
  CHECK(told.empty());
  CHECK(gate.charge_run(run, of_tools(1)));
  CHECK(told.empty());
  poll();
  CHECK(told == percents{50});
  CHECK(gate.charge_run(run, of_tools(46)));
  CHECK(gate.charge_run(run, of_tools(4)));
  CHECK(told == percents{50});
  poll();
  CHECK(told == percents{50, 80, 95, 100});
  CHECK(gate.balance(run)->crossed == 100);
  CHECK(gate.extend_run(run, of_tools(100)));
  poll();
  CHECK(gate.balance(run)->crossed == 50);
  CHECK(gate.charge_run(run, of_tools(60)));
  poll();
  CHECK(told == percents{50, 80, 95, 100, 80});
}

TEST_CASE_FIXTURE(spacious, "requests are told of when they are let in, also without suspending, and when they end") {
  percents told;
  const run_id run = open(told, {.limit = {.tokens = 1'000}});
  auto first = gate.try_admit({.tokens = 500}, interactive, {.run = run});
  REQUIRE(first);
  CHECK(told.empty());
  poll();
  CHECK(told == percents{50});
  answer second;
  spawn(ask(gate, second, {.tokens = 300}, interactive, {.run = run}));
  poll();
  CHECK(second.granted());
  CHECK(told == percents{50, 80});
  first->settle({.input_tokens = 650, .output_tokens = 0});
  first->release();
  poll();
  CHECK(told == percents{50, 80, 95});
  second.result->value().settle({.input_tokens = 350, .output_tokens = 0});
  second.release();
  CHECK(told.size() == 3);
  poll();
  CHECK(told == percents{50, 80, 95, 100});
}

TEST_CASE_FIXTURE(spacious, "a parent is told of what is carved out of it, and each run of its own limits alone") {
  percents of_top;
  percents of_low;
  const run_id top = open(of_top, {.limit = {.tool_calls = 100}});
  const run_id low = open(of_low, {.parent = top, .funding = run_funding::carve, .limit = {.tool_calls = 60}});
  CHECK(of_top.empty());
  poll();
  CHECK(of_top == percents{50});
  CHECK(gate.open_run({.parent = top, .funding = run_funding::carve, .limit = {.tool_calls = 20}}));
  poll();
  CHECK(of_top == percents{50, 80});
  CHECK(gate.charge_run(low, of_tools(30)));
  poll();
  CHECK(of_top == percents{50, 80});
  CHECK(of_low == percents{50});
}

TEST_CASE_FIXTURE(spacious, "runs are told apart whatever their tags are") {
  percents first;
  percents second;
  const run_id one = open(first, {.limit = {.tool_calls = 1}, .tag = 7});
  const run_id other = open(second, {.limit = {.tool_calls = 2}, .tag = 7});
  const auto silent = gate.open_run({.limit = {.tool_calls = 1}, .tag = 7});
  CHECK(gate.charge_run(*silent, of_tools(1)));
  CHECK(gate.charge_run(other, of_tools(1)));
  poll();
  CHECK(first.empty());
  CHECK(second == percents{50});
  CHECK(gate.charge_run(one, of_tools(1)));
  poll();
  CHECK(first == percents{50, 80, 95, 100});
  CHECK(second == percents{50});
}

TEST_CASE_FIXTURE(spacious, "what a listener throws is dropped, and the others are told") {
  int thrown = 0;
  percents told;
  const auto angry = gate.open_run({.limit = {.tool_calls = 2}}, [&thrown](std::uint32_t) {
    ++thrown;
    throw std::runtime_error("no");
  });
  const run_id calm = open(told, {.limit = {.tool_calls = 2}});
  CHECK(gate.charge_run(*angry, of_tools(2)));
  CHECK(gate.charge_run(calm, of_tools(1)));
  poll();
  CHECK(thrown == 4);
  CHECK(told == percents{50});
}

TEST_CASE_FIXTURE(spacious, "a run that is closed is told nothing more, and its listener is let go of") {
  witness seen;
  const auto run = gate.open_run({.limit = {.tool_calls = 100}}, seen.listener());
  CHECK(gate.charge_run(*run, of_tools(50)));
  auto held = gate.try_admit({}, interactive, {.run = *run});
  REQUIRE(held);
  CHECK(!seen.gone());
  CHECK(gate.close_run(*run));
  CHECK(seen.gone());
  held->release();
  poll();
  CHECK(seen.calls() == 0);
  CHECK(!gate.close_run(*run));
}

TEST_CASE_FIXTURE(spacious, "a listener may use the gate, and close its own run") {
  percents told;
  std::int64_t left = -1;
  run_id run;
  const auto opened = gate.open_run({.limit = {.tool_calls = 100}}, [&](std::uint32_t percent) {
    told.push_back(percent);
    left = gate.balance(run)->remaining.tool_calls;
    if (percent == 80) CHECK(gate.close_run(run));
  });
  run = *opened;
  CHECK(gate.charge_run(run, of_tools(100)));
  poll();
  CHECK(told == percents{50, 80});
  CHECK(left == 0);
  CHECK(!gate.balance(run));
}

TEST_CASE_FIXTURE(spacious, "a run that cannot be opened has no listener; an empty listener is none") {
  witness seen;
  const auto refused = gate.open_run({.limit = {.tool_calls = -1}}, seen.listener());
  CHECK(!refused);
  CHECK(seen.gone());
  const auto run = gate.open_run({.limit = {.tool_calls = 1}}, budget_listener());
  REQUIRE(run);
  CHECK(gate.charge_run(*run, of_tools(1)));
  CHECK(poll() == 0);
}

TEST_CASE_FIXTURE(spacious, "many are told in turns, and others get theirs between") {
  percents told;
  std::vector<run_id> runs;
  for (int i = 0; i < 100; ++i) runs.push_back(open(told, {.limit = {.tool_calls = 2}}));
  std::size_t at_first_turn = 0;
  for (const run_id each : runs) CHECK(gate.charge_run(each, of_tools(1)));
  asio::post(context, [&] { at_first_turn = told.size(); });
  poll();
  CHECK(at_first_turn == 64);
  CHECK(told.size() == 100);
}

TEST_CASE("the context goes first: listeners are let go of, and nobody is told") {
  testing::manual_time_source time;
  auto context = std::make_unique<asio::io_context>();
  witness untold;
  witness told;
  bulkhead gate(context->get_executor(), plain({.slots = 10, .tokens = 1'000}), time);
  const auto first = gate.open_run({.limit = {.tool_calls = 10}}, untold.listener());
  const auto second = gate.open_run({.limit = {.tool_calls = 10}}, told.listener());
  CHECK(gate.charge_run(*second, of_tools(5)));
  context->poll();
  CHECK(told.calls() == 1);
  CHECK(gate.charge_run(*first, of_tools(5)));
  context.reset();
  CHECK(untold.calls() == 0);
  CHECK(untold.gone());
  CHECK(told.gone());
  CHECK(gate.charge_run(*first, of_tools(5)));
  CHECK(gate.balance(*first)->crossed == 100);
  // Nobody could call a new one either.
  witness late;
  const auto third = gate.open_run({.limit = {.tool_calls = 1}}, late.listener());
  REQUIRE(third);
  CHECK(late.gone());
  CHECK(gate.charge_run(*third, of_tools(1)));
  CHECK(gate.close_run(*third));
}

TEST_CASE("the bulkhead goes first: nobody is told, and listeners are let go of") {
  testing::manual_time_source time;
  asio::io_context context;
  witness seen;
  permit held;
  {
    bulkhead gate(context.get_executor(), plain({.slots = 10, .tokens = 1'000}), time);
    const auto run = gate.open_run({.limit = {.tokens = 100}}, seen.listener());
    auto admitted = gate.try_admit({.tokens = 80}, interactive, {.run = *run});
    REQUIRE(admitted);
    held = std::move(*admitted);
  }
  CHECK(seen.gone());
  context.poll();
  CHECK(seen.calls() == 0);
  held.settle({.input_tokens = 100, .output_tokens = 0});
  held.release();
  context.restart();
  context.poll();
  CHECK(seen.calls() == 0);
}

TEST_CASE_FIXTURE(spacious, "what listeners bring about is replayed") {
  gate.start_recording();
  percents told;
  const run_id run = open(told, {.limit = {.tokens = 100, .tool_calls = 4}});
  auto held = gate.try_admit({.tokens = 60}, interactive, {.run = run});
  REQUIRE(held);
  CHECK(gate.charge_run(run, of_tools(4)));
  CHECK(!gate.charge_run(run, of_tools(1)));
  held->release();
  poll();
  CHECK(told == percents{50, 80, 95, 100});
  const auto again = core::replay(gate.take_recording());
  REQUIRE_MESSAGE(again, again.error().message());
  CHECK(!again->difference);
  // Told of as before when nothing is recorded any more.
  CHECK(gate.extend_run(run, of_tools(6)));
  CHECK(gate.charge_run(run, of_tools(5)));
  poll();
  CHECK(told == percents{50, 80, 95, 100, 80});
}

TEST_CASE_FIXTURE(spacious, "a charge that cannot be paid names the run that cannot") {
  const auto top = gate.open_run({.limit = {.tool_calls = 2}});
  const auto low = gate.open_run({.parent = *top});
  CHECK(gate.charge_run(*low, of_tools(1)));
  const auto refused = gate.charge_run(*low, of_tools(2));
  REQUIRE(!refused);
  CHECK(refused.error() == charge_refusal{charge_refusal::cause::exhausted, budget_axis::tool_calls, *top, 2, 1, 1, 2});
  CHECK(refused.error().to_error().is(errc::refused));
  CHECK(gate.charge_run({}, of_tools(1)).error().why == charge_refusal::cause::not_open);
  CHECK(gate.charge_run(*low, of_tools(-1)).error().why == charge_refusal::cause::negative);
  CHECK(gate.balance(*top)->spent == of_tools(1));
}

TEST_CASE_FIXTURE(spacious, "who waits for a run that a charge exhausts is told") {
  const auto run = gate.open_run({.limit = {.tokens = 1'000}});
  auto held = gate.try_admit({.tokens = 400}, interactive, {.run = *run});
  REQUIRE(held);
  answer waits;
  spawn(ask(gate, waits, {.tokens = 700}, interactive, {.run = *run}));
  poll();
  CHECK(waits.completions == 0);
  CHECK(gate.charge_run(*run, {.tokens = 301}));
  CHECK(waits.completions == 0);
  poll();
  CHECK(waits.why() == reason::budget_exhausted);
}

TEST_CASE("from many threads, on an executor of several: in order, one at a time, and each once") {
  constexpr int runs = 32;
  asio::thread_pool pool(3);
  bulkhead gate(pool.get_executor(), plain({.slots = 1'000, .tokens = 1'000'000}));
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  std::vector<percents> told(runs);
  std::vector<run_id> ids;
  for (int i = 0; i < runs; ++i) {
    const auto opened = gate.open_run({.limit = {.tokens = 8'000, .tool_calls = 400}}, [&, i](std::uint32_t percent) {
      if (inside.fetch_add(1) != 0) overlapped = true;
      told[static_cast<std::size_t>(i)].push_back(percent);
      inside.fetch_sub(1);
    });
    REQUIRE(opened);
    ids.push_back(*opened);
  }
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        for (const run_id each : ids) {
          auto held = gate.try_admit({.tokens = 10}, interactive, {.run = each});
          if (!gate.charge_run(each, of_tools(1))) ++refused;
          if (held) held->settle({.input_tokens = 1, .output_tokens = 0});
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  pool.join();
  CHECK(refused == 0);
  CHECK(!overlapped);
  for (const percents& each : told) CHECK(each == percents{50, 80, 95, 100});
  for (const run_id each : ids) {
    CHECK(gate.balance(each)->spent.tool_calls == 400);
    CHECK(gate.balance(each)->reserved == spending{});
    CHECK(gate.close_run(each));
  }
}

TEST_CASE("runs are closed on the strand of a gate while others are charged elsewhere: none is told after") {
  asio::thread_pool pool(2);
  const auto strand = asio::make_strand(pool.get_executor());
  testing::manual_time_source time;
  bulkhead gate(strand, plain({.slots = 10, .tokens = 1'000}), time);
  std::atomic<int> late{0};
  for (int i = 0; i < 200; ++i) {
    const auto closed = std::make_shared<std::atomic<bool>>(false);
    const auto run = gate.open_run({.limit = {.tool_calls = 4}}, [&late, closed](std::uint32_t) {
      if (*closed) ++late;
    });
    REQUIRE(run);
    asio::post(strand, [&gate, closed, id = *run] {
      gate.close_run(id);
      *closed = true;
    });
    static_cast<void>(gate.charge_run(*run, of_tools(2)));
    static_cast<void>(gate.charge_run(*run, of_tools(2)));
  }
  pool.join();
  CHECK(late == 0);
}
