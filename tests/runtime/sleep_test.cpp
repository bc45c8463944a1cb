#include <sluice/runtime/sleep.hpp>

#include "runtime/house.hpp"

#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <thread>

using namespace sluice::runtime_test;
using sluice::instant;
using sluice::never;
using sluice::sleep_until;
using sluice::time_source;

namespace {

/// Says when its coroutine's frame is gone.
struct trace {
  int steps = 0;
  bool gone = false;
};
struct on_exit {
  trace& where;
  ~on_exit() { where.gone = true; }
};

asio::awaitable<void> sleeps(time_source& time, instant when, trace& seen) {
  const on_exit leaving{seen};
  ++seen.steps;
  co_await sleep_until(time, when);
  ++seen.steps;
}

struct parts {
  std::unique_ptr<sluice::testing::manual_time_source> time = std::make_unique<sluice::testing::manual_time_source>();
  std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>();
  trace seen;
  ending ended;
  asio::cancellation_signal stop;

  void start(instant when) {
    asio::co_spawn(*context, sleeps(*time, when, seen), asio::bind_cancellation_slot(stop.slot(), ended.handler()));
    poll();
  }
  void poll() {
    context->restart();
    context->poll();
  }
};

}  // namespace

TEST_CASE("a sleep ends when its instant has come, and not before") {
  parts self;
  self.start(self.time->now() + 5s);
  CHECK(self.seen.steps == 1);
  self.time->advance(5s - 1ns);
  self.poll();
  CHECK(self.seen.steps == 1);
  self.time->advance(1ns);
  // On the sleeper's executor, not on the clock's thread.
  CHECK(self.seen.steps == 1);
  self.poll();
  CHECK(self.seen.steps == 2);
  CHECK((self.ended.ended && !self.ended.thrown));
  CHECK(self.time->armed() == 0);
}

TEST_CASE("an instant that has passed is no wait") {
  for (const auto before : {0ns, 1ns, 10'000'000'000ns}) {
    parts self;
    self.start(self.time->now() - before);
    CHECK(self.seen.steps == 2);
    CHECK(self.time->armed() == 0);
  }
}

TEST_CASE("sleeps end in the order of their instants, and their coroutines go on sleeping") {
  parts self;
  std::string order;
  struct program {
    time_source& time;
    std::string& order;
    asio::awaitable<void> run(char name, sluice::duration each) {
      for (int n = 0; n < 3; ++n) {
        co_await sleep_until(time, time.now() + each);
        order += name;
      }
    }
  } work{*self.time, order};
  asio::co_spawn(*self.context, work.run('a', 2s), self.ended.handler());
  asio::co_spawn(*self.context, work.run('b', 3s), self.ended.handler());
  self.poll();
  for (int n = 0; n < 10; ++n) {
    self.time->advance(1s);
    self.poll();
  }
  // At six seconds b comes first: it was armed first.
  CHECK(order == "ababab");
  CHECK(self.time->armed() == 0);
}

TEST_CASE("each type of cancellation that the coroutine lets through ends it early") {
  for (const auto kind :
       {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
    parts self;
    int after = 0;
    const auto program = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      co_await sleep_until(*self.time, self.time->now() + 5s);
      ++after;
      co_await sleep_until(*self.time, self.time->now() + 5s);
      ++after;
    };
    asio::co_spawn(*self.context, program(), asio::bind_cancellation_slot(self.stop.slot(), self.ended.handler()));
    self.poll();
    self.stop.emit(kind);
    self.poll();
    CHECK(after == 1);
    CHECK(self.ended.threw_aborted());
    CHECK(self.time->armed() == 0);
  }
}

TEST_CASE("cancelled after its instant came, and after it went on: it ends once") {
  parts self;
  self.start(self.time->now() + 1s);
  self.time->advance(1s);
  self.stop.emit(asio::cancellation_type::terminal);
  self.stop.emit(asio::cancellation_type::terminal);
  self.poll();
  CHECK(self.seen.steps == 2);
  self.stop.emit(asio::cancellation_type::terminal);
  self.poll();
  CHECK(self.seen.steps == 2);

  parts late;
  late.start(late.time->now() + 1s);
  late.stop.emit(asio::cancellation_type::terminal);
  late.time->advance(1s);
  late.poll();
  CHECK(late.seen.steps == 2);
  CHECK(late.time->armed() == 0);
}

TEST_CASE("never is an instant that does not come") {
  parts self;
  self.start(never);
  self.time->advance(100'000h);
  self.poll();
  CHECK(self.seen.steps == 1);
  self.stop.emit(asio::cancellation_type::terminal);
  self.poll();
  CHECK(self.seen.steps == 2);
}

TEST_CASE("the context goes first, asleep and on its way back: dropped, and out of the clock") {
  parts self;
  self.start(self.time->now() + 1s);
  bool woken = false;
  SUBCASE("asleep") {}
  SUBCASE("on its way back") { woken = true; }
  if (woken) self.time->advance(1s);
  self.context.reset();
  CHECK(self.seen.gone);
  CHECK(self.seen.steps == 1);
  CHECK(self.time->armed() == 0);
  self.time->advance(2s);
}

TEST_CASE("the clock goes first: the sleep does not end, and its context drops it") {
  parts self;
  SUBCASE("a clock by hand") {
    self.start(self.time->now() + 1s);
    self.time.reset();
  }
  SUBCASE("the steady clock of a gate, and the gate's own context") {
    auto gate = std::make_unique<sluice::bulkhead>(self.context->get_executor(), plain({.slots = 1, .tokens = 1}));
    asio::co_spawn(*self.context, sleeps(gate->time(), gate->in(1h), self.seen), self.ended.handler());
    self.poll();
    gate.reset();
  }
  SUBCASE("the steady clock of another context, and that context even before") {
    auto other = std::make_unique<asio::io_context>();
    auto gate = std::make_unique<sluice::bulkhead>(other->get_executor(), plain({.slots = 1, .tokens = 1}));
    asio::co_spawn(*self.context, sleeps(gate->time(), gate->in(1h), self.seen), self.ended.handler());
    self.poll();
    other.reset();
    gate.reset();
  }
  self.poll();
  CHECK(self.seen.steps == 1);
  CHECK_FALSE(self.seen.gone);
  self.context.reset();
  CHECK(self.seen.gone);
  CHECK(self.seen.steps == 1);
}

TEST_CASE("on strands and on several threads, with cancellations from the side: each ends once") {
  sluice::testing::manual_time_source time;
  asio::thread_pool pool(2);
  constexpr int count = 400;
  std::atomic<int> ended = 0;
  struct one {
    explicit one(asio::thread_pool& where) : strand(asio::make_strand(where)) {}
    asio::strand<asio::thread_pool::executor_type> strand;
    asio::cancellation_signal stop;
  };
  std::vector<std::unique_ptr<one>> all;
  for (int n = 0; n < count; ++n) {
    auto& each = *all.emplace_back(std::make_unique<one>(pool));
    asio::co_spawn(each.strand, sleep_until(time, time.now() + std::chrono::milliseconds(1 + n % 20)),
                   asio::bind_cancellation_slot(each.stop.slot(), [&](std::exception_ptr) { ++ended; }));
    if (n % 3 == 0) {
      asio::post(each.strand, [&each] { each.stop.emit(asio::cancellation_type::terminal); });
    }
  }
  while (ended < count) {
    time.advance(1ms);
    std::this_thread::yield();
  }
  pool.join();
  CHECK(ended == count);
  CHECK(time.armed() == 0);
}
