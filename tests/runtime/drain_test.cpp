// `drain` waits until nothing runs and nothing waits, at most as long as it is told, and touches nothing.
#include "runtime/house.hpp"

#include <asio/bind_executor.hpp>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

asio::awaitable<void> drain_into(bulkhead& gate, duration limit, std::optional<drain_result>& into) {
  into = co_await gate.drain(limit);
}

bool same(const std::optional<drain_result>& is, const drain_result& should) {
  return is && is->drained == should.drained && is->in_flight == should.in_flight && is->waiting == should.waiting;
}

}  // namespace

TEST_CASE_FIXTURE(house, "idle: at once") {
  std::optional<drain_result> got;
  spawn(drain_into(gate, 1h, got));
  CHECK(context.poll_one() == 1);
  CHECK(same(got, {true, 0, 0}));
  CHECK(time.armed() == 0);
}

TEST_CASE_FIXTURE(house, "a limit of zero or less takes stock") {
  auto held = gate.try_admit({});
  answer waits;
  gate.async_admit({}, tell(waits));
  for (const duration limit : {duration(0), duration(-1s)}) {
    std::optional<drain_result> got;
    spawn(drain_into(gate, limit, got));
    poll();
    CHECK(same(got, {false, 1, 1}));
  }
  CHECK(waits.completions == 0);
}

TEST_CASE_FIXTURE(house, "it waits for what runs, and for what waits and then runs; several callers at once") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer waits;
  gate.async_admit({}, tell(waits));
  std::optional<drain_result> first;
  std::optional<drain_result> second;
  std::optional<drain_result> without_limit;
  spawn(drain_into(gate, 1h, first));
  spawn(drain_into(gate, 2h, second));
  spawn(drain_into(gate, duration::max(), without_limit));
  poll();
  held->release();
  poll();
  CHECK(waits.granted());
  CHECK_FALSE(first);
  time.advance(30min);
  poll();
  CHECK_FALSE(first);
  waits.release();
  poll();
  CHECK(same(first, {true, 0, 0}));
  CHECK(same(second, {true, 0, 0}));
  CHECK(same(without_limit, {true, 0, 0}));
  CHECK(time.armed() == 0);
  CHECK(empty(gate));
  context.restart();
  CHECK(context.run() == 0);
}

TEST_CASE_FIXTURE(house, "the limit passes: it says what there is, and nothing is cancelled") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer waits;
  gate.async_admit({}, tell(waits));
  std::optional<drain_result> got;
  spawn(drain_into(gate, 5s, got));
  poll();
  time.advance(5s - 1ns);
  poll();
  CHECK_FALSE(got);
  time.advance(1ns);
  poll();
  CHECK(same(got, {false, 1, 1}));
  held->release();
  poll();
  CHECK(waits.granted());
  waits.release();
  std::optional<drain_result> again;
  spawn(drain_into(gate, 5s, again));
  poll();
  CHECK(same(again, {true, 0, 0}));
}

TEST_CASE_FIXTURE(house, "close and drain") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer waits;
  gate.async_admit({}, tell(waits));
  std::optional<drain_result> got;
  spawn(drain_into(gate, 5s, got));
  poll();
  gate.close();
  poll();
  CHECK(waits.why() == reason::closed);
  CHECK_FALSE(got);
  held->release();
  poll();
  CHECK(same(got, {true, 0, 0}));
  CHECK(empty(gate));
}

TEST_CASE("it ends when the last waiter leaves while nothing runs: cancelled, expired, impossible, dropped") {
  house self(plain({.slots = 0, .tokens = 0}));
  asio::cancellation_signal stop;
  answer waits;
  auto other = std::make_unique<asio::io_context>();
  std::optional<drain_result> got;
  self.spawn(drain_into(self.gate, 1h, got));
  SUBCASE("cancelled") {
    self.gate.async_admit({}, asio::bind_cancellation_slot(stop.slot(), tell(waits)));
    self.poll();
    stop.emit(asio::cancellation_type::total);
  }
  SUBCASE("expired") {
    self.gate.async_admit({.options = {.deadline = self.gate.in(1s)}}, tell(waits));
    self.poll();
    self.time.advance(1s);
  }
  SUBCASE("impossible") {
    self.gate.async_admit({.cost = {.tokens = 20}}, tell(waits));
    self.poll();
    policy small = plain({.slots = 1, .tokens = 10});
    small.revision = 2;
    REQUIRE(self.gate.reconfigure(small));
  }
  SUBCASE("dropped with its context") {
    self.gate.async_admit({}, asio::bind_executor(*other, tell(waits)));
    self.poll();
    CHECK_FALSE(got);
    other.reset();
  }
  self.poll();
  CHECK(same(got, {true, 0, 0}));
}

TEST_CASE_FIXTURE(house, "it can be cancelled, and leaves nothing behind") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  asio::cancellation_signal stop;
  std::optional<drain_result> got;
  asio::co_spawn(context, drain_into(gate, 1h, got), asio::bind_cancellation_slot(stop.slot(), ended.handler()));
  poll();
  CHECK(time.armed() == 1);
  stop.emit(asio::cancellation_type::terminal);
  poll();
  CHECK(ended.ended);
  CHECK(same(got, {false, 1, 0}));
  CHECK(time.armed() == 0);
  held->release();
  CHECK(poll() == 0);
}

TEST_CASE("the bulkhead, the clock and the context go while it waits") {
  auto time = std::make_unique<testing::manual_time_source>();
  auto context = std::make_unique<asio::io_context>();
  auto gate = std::make_unique<bulkhead>(context->get_executor(), plain({.slots = 1, .tokens = 10}), *time);
  auto held = gate->try_admit({});
  REQUIRE(held);
  std::optional<drain_result> got;
  asio::co_spawn(*context, drain_into(*gate, 1h, got), [](std::exception_ptr) {});
  SUBCASE("the bulkhead, before it has begun to wait") {
    context->poll_one();
    gate.reset();
    time.reset();
    context->restart();
    context->poll();
    CHECK(same(got, {false, 1, 0}));
    held->release();
  }
  SUBCASE("the bulkhead first: it gives up at once") {
    context->poll();
    gate.reset();
    time.reset();
    context->restart();
    context->poll();
    CHECK(same(got, {false, 1, 0}));
    context.reset();
    held->release();
  }
  SUBCASE("the context first") {
    context->poll();
    context.reset();
    CHECK(time->armed() == 0);
    held->release();
    gate.reset();
    CHECK_FALSE(got);
  }
  SUBCASE("the permit's end and the bulkhead's, before it is told") {
    context->poll();
    held->release();
    gate.reset();
    time.reset();
    context->restart();
    context->poll();
    CHECK(same(got, {true, 0, 0}));
  }
}
