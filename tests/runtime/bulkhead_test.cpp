// Admission through the gate: when it completes, where, in what order, and with what answer.
#include "runtime/house.hpp"

#include <asio/bind_executor.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>

#include <cstdlib>
#include <future>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE_FIXTURE(house, "with room, admit goes on without suspending") {
  std::string trace;
  answer got;
  spawn([](house& self, std::string& order, answer& into) -> asio::awaitable<void> {
    asio::post(self.context, [&] { order += "posted"; });
    for (int n = 0; n < 3; ++n) {
      into(co_await self.gate.admit({.tokens = 10}));
      into.release();
    }
    order += "admitted ";
  }(*this, trace, got));
  CHECK(context.poll_one() == 1);
  CHECK(trace == "admitted ");
  CHECK(got.completions == 3);
  poll();
  CHECK(trace == "admitted posted");
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "with room, admit and release allocate nothing once warm") {
  std::size_t used = 1;
  spawn([](house& self, std::size_t& count) -> asio::awaitable<void> {
    for (int n = 0; n < 200; ++n) {
      if (n == 100) count = allocations;
      auto permit = co_await self.gate.admit({.tokens = 10}, batch, {.deadline = self.gate.in(1h)});
      if (!permit) co_return;
    }
    count = allocations - count;
  }(*this, used));
  poll();
  CHECK(ended.ended);
  CHECK(used == 0);
}

TEST_CASE_FIXTURE(house, "without room, admit waits for a release and is then served") {
  auto first = gate.try_admit({.tokens = 10});
  REQUIRE(first);
  answer got;
  spawn(ask(gate, got, {.tokens = 10}));
  poll();
  CHECK(got.completions == 0);
  CHECK(gate.statistics().all.waiting == 1);
  first->release();
  CHECK(got.completions == 0);
  poll();
  CHECK(got.granted());
  CHECK(gate.statistics().all.admitted_after_wait_total == 1);
  got.release();
  CHECK(empty(gate));
}

TEST_CASE("one turn of the loop completes many, in the order of service") {
  house self(plain({.slots = 5, .tokens = 1'000}));
  auto all = self.gate.try_admit({.tokens = 10, .slots = 5});
  REQUIRE(all);
  std::vector<int> order;
  std::vector<permit> kept;
  for (int n = 0; n < 5; ++n) {
    // The later in the queue, the earlier the deadline.
    self.gate.async_admit({.cost = {.tokens = 10}, .options = {.deadline = self.gate.in(100s - n * 1s)}},
                          [&, n](admission_result got) {
                            order.push_back(n);
                            kept.push_back(std::move(got).value());
                          });
  }
  CHECK(self.poll() == 0);
  all->release();
  CHECK(order.empty());
  CHECK(self.poll() == 1);
  CHECK(order == std::vector{4, 3, 2, 1, 0});
}

TEST_CASE("a turn is bounded, so that others get theirs between") {
  house self(plain({.slots = 100, .tokens = 1'000}));
  auto all = self.gate.try_admit({.slots = 100});
  REQUIRE(all);
  std::vector<permit> kept;
  std::size_t before_other = 0;
  for (int n = 0; n < 100; ++n) {
    self.gate.async_admit({}, [&](admission_result got) { kept.push_back(std::move(got).value()); });
  }
  all->release();
  asio::post(self.context, [&] { before_other = kept.size(); });
  self.poll();
  CHECK(before_other > 0);
  CHECK(before_other < 100);
  CHECK(kept.size() == 100);
}

TEST_CASE_FIXTURE(house, "async_admit never completes within the call, with room, without, or refused") {
  answer with_room;
  answer refused;
  answer waits;
  gate.async_admit({.cost = {.tokens = 10}}, tell(with_room));
  gate.async_admit({.cost = {.tokens = -1}}, tell(refused));
  gate.async_admit({.cost = {.tokens = 10}}, tell(waits));
  CHECK(with_room.completions + refused.completions + waits.completions == 0);
  poll();
  CHECK(with_room.granted());
  CHECK(refused.why() == reason::invalid_cost);
  CHECK(waits.completions == 0);
  with_room.release();
  CHECK(waits.completions == 0);
  poll();
  CHECK(waits.granted());
}

TEST_CASE_FIXTURE(house, "a handler runs on its own executor: another context, a strand, a pool") {
  auto first = gate.try_admit({.tokens = 10});
  REQUIRE(first);
  SUBCASE("another context") {
    asio::io_context other;
    answer got;
    gate.async_admit({}, asio::bind_executor(other.get_executor(), tell(got)));
    first->release();
    poll();
    CHECK(got.completions == 0);
    CHECK(other.poll() == 1);
    CHECK(got.granted());
  }
  SUBCASE("a strand of the same context") {
    auto strand = asio::make_strand(context);
    bool on_strand = false;
    gate.async_admit({}, asio::bind_executor(strand, [&](admission_result got) {
                       on_strand = strand.running_in_this_thread() && got.has_value();
                     }));
    first->release();
    poll();
    CHECK(on_strand);
  }
  SUBCASE("a pool, and a coroutine there") {
    asio::thread_pool pool(1);
    std::thread::id ran;
    std::promise<void> waiting;
    asio::co_spawn(
        pool,
        [&]() -> asio::awaitable<void> {
          asio::post(pool, [&] { waiting.set_value(); });
          auto got = co_await gate.admit({});
          if (got) ran = std::this_thread::get_id();
        },
        ended.handler());
    waiting.get_future().wait();
    first->release();
    pool.join();
    CHECK(ended.ended);
    CHECK(ran != std::thread::id());
    CHECK(ran != std::this_thread::get_id());
  }
  poll();
  CHECK(empty(gate));
}

TEST_CASE("those who wait on other executors are told in the order of service") {
  house self(plain({.slots = 4, .tokens = 1'000}));
  asio::io_context other;
  auto all = self.gate.try_admit({.slots = 4});
  REQUIRE(all);
  std::vector<int> order;
  std::vector<permit> kept;
  for (int n = 0; n < 4; ++n) {
    self.gate.async_admit({}, asio::bind_executor(other.get_executor(), [&, n](admission_result got) {
                            order.push_back(n);
                            kept.push_back(std::move(got).value());
                          }));
  }
  all->release();
  other.poll();
  CHECK(order == std::vector{0, 1, 2, 3});
}

TEST_CASE_FIXTURE(house, "every kind of completion token") {
  auto future = gate.async_admit({.cost = {.tokens = 10}}, asio::use_future);
  auto packaged = gate.async_admit({.cost = {.tokens = -10}},
                                   asio::use_future([](admission_result got) { return got.has_value(); }));
  poll();
  auto first = future.get();
  CHECK(first.has_value());
  CHECK_FALSE(packaged.get());
  first->release();

  answer deferred;
  auto operation = gate.async_admit({.cost = {.tokens = 10}}, asio::experimental::deferred);
  poll();
  CHECK(gate.statistics().all.admitted_total == 1);
  std::move(operation)(tell(deferred));
  poll();
  CHECK(deferred.granted());
  deferred.release();

  spawn([](house& self) -> asio::awaitable<void> {
    auto [got] =
        co_await self.gate.async_admit({.cost = {.tokens = 10}}, asio::experimental::as_tuple(asio::use_awaitable));
    CHECK(got.has_value());
    auto again = co_await self.gate.async_admit({.cost = {.tokens = 1'001}}, asio::use_awaitable);
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().reason() == reason::impossible);
  }(*this));
  poll();
  CHECK(ended.ended);
  CHECK_FALSE(ended.thrown);
  CHECK(empty(gate));
}

namespace {

enum class way { admit, try_admit, async_admit };

rejection refused_by(house& self, way how, cost asked, workload as = interactive, admit_options options = {}) {
  answer got;
  switch (how) {
    case way::admit: self.spawn(ask(self.gate, got, asked, as, options)); break;
    case way::try_admit: got(self.gate.try_admit(asked, as, options)); break;
    case way::async_admit: self.gate.async_admit({asked, as, options}, tell(got)); break;
  }
  self.poll();
  REQUIRE(got.completions == 1);
  REQUIRE_FALSE(got.result->has_value());
  return got.result->error();
}

bool has(const rejection& why, const std::string& text) {
  const std::string said = why.explain();
  INFO(said);
  const bool found = said.find(text) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE_FIXTURE(house, "what can never be is refused at once, in every way of asking, and no account changes") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const way how : {way::admit, way::try_admit, way::async_admit}) {
    CAPTURE(static_cast<int>(how));
    CHECK(refused_by(*this, how, {.tokens = -1}).reason() == reason::invalid_cost);
    CHECK(refused_by(*this, how, {.tokens = 1, .slots = -1}).reason() == reason::invalid_cost);
    CHECK(refused_by(*this, how, {.tokens = 1, .output_tokens = -1}).reason() == reason::invalid_cost);
    CHECK(refused_by(*this, how, {.tokens = 1, .output_tokens = 2}).reason() == reason::invalid_cost);
    CHECK(refused_by(*this, how, {.tokens = std::numeric_limits<std::int64_t>::min()}).reason() ==
          reason::invalid_cost);

    CHECK(refused_by(*this, how, {.tokens = most}).reason() == reason::impossible);
    CHECK(refused_by(*this, how, {.tokens = most, .output_tokens = most, .slots = most}).reason() ==
          reason::impossible);
    const rejection large = refused_by(*this, how, {.tokens = 1'001});
    CHECK(large.reason() == reason::impossible);
    CHECK(large.details().limit == 1'000);
    CHECK(large.details().shortfall == 1);
    has(large, "1,001");
    has(large, "1,000");
    has(large, "capacity.tokens");
    CHECK(refused_by(*this, how, {.tokens = 1, .slots = 2}).details().bound == constraint::pool_slots);

    const rejection unknown = refused_by(*this, how, {.tokens = 1}, workload(7));
    CHECK(unknown.reason() == reason::unknown_class);
    CHECK(unknown.class_name() == "#7");
    has(unknown, "#7");

    CHECK(refused_by(*this, how, {}, interactive, {.deadline = instant{}}).reason() == reason::deadline_passed);
    CHECK(refused_by(*this, how, {}, interactive, {.deadline = instant::min()}).reason() == reason::deadline_passed);
    CHECK(refused_by(*this, how, {}, interactive, {.deadline = gate.now()}).reason() == reason::deadline_passed);
    CHECK(refused_by(*this, how, {}, interactive, {.deadline = gate.in(-5s)}).reason() == reason::deadline_passed);
    CHECK(empty(gate));
  }
  CHECK(gate.statistics().all.admitted_total == 0);
}

TEST_CASE_FIXTURE(house, "the greatest deadline is none, and the most that fits fits") {
  auto all = gate.try_admit({.tokens = 1'000, .output_tokens = 1'000}, interactive, {.deadline = instant::max()});
  REQUIRE(all);
  answer patient;
  gate.async_admit({.options = {.deadline = gate.in(duration::max())}}, tell(patient));
  time.advance(24h * 365 * 100);
  poll();
  CHECK(patient.completions == 0);
  all->release();
  poll();
  CHECK(patient.granted());
  CHECK(gate.try_admit({.tokens = 0, .slots = 0}));
}

TEST_CASE_FIXTURE(house, "no room is said with its numbers and the knob") {
  auto first = gate.try_admit({.tokens = 700});
  REQUIRE(first);
  const rejection slots = refused_by(*this, way::try_admit, {.tokens = 10});
  CHECK(slots.reason() == reason::no_room);
  CHECK(slots.details().bound == constraint::pool_slots);
  has(slots, "capacity.slots");
  const rejection tokens = refused_by(*this, way::try_admit, {.tokens = 301, .slots = 0});
  CHECK(tokens.reason() == reason::no_room);
  CHECK(tokens.details().bound == constraint::pool_tokens);
  CHECK(tokens.details().available == 300);
  CHECK(tokens.details().shortfall == 1);
  has(tokens, "301");
  has(tokens, "300");
  has(tokens, "capacity.tokens");
  CHECK(gate.try_admit({.tokens = 300, .slots = 0}));
}

TEST_CASE_FIXTURE(house, "nobody overtakes who waits") {
  auto first = gate.try_admit({.tokens = 700});
  REQUIRE(first);
  answer large;
  gate.async_admit({.cost = {.tokens = 1'000}}, tell(large));
  const rejection small = refused_by(*this, way::try_admit, {.tokens = 10, .slots = 0});
  CHECK(small.reason() == reason::no_room);
  CHECK(small.details().ahead == 1);
  first->release();
  poll();
  CHECK(large.granted());
}

TEST_CASE("a full queue refuses its worst, which may be the newcomer") {
  policy rules = plain({.slots = 1, .tokens = 1'000});
  rules.max_waiting = 2;
  house self(rules);
  auto held = self.gate.try_admit({});
  REQUIRE(held);
  answer light;
  answer heavy;
  answer urgent;
  answer newest;
  self.gate.async_admit({.cost = {.tokens = 10}, .workload = batch}, tell(light));
  self.gate.async_admit({.cost = {.tokens = 900}, .workload = batch}, tell(heavy));
  self.gate.async_admit({.cost = {.tokens = 10}, .workload = interactive}, tell(urgent));
  self.poll();
  CHECK(heavy.why() == reason::shed);
  has(heavy.result->error(), "max_waiting");
  CHECK(light.completions == 0);
  self.gate.async_admit({.cost = {.tokens = 900}, .workload = batch}, tell(newest));
  self.poll();
  CHECK(newest.why() == reason::queue_full);
  has(newest.result->error(), "2");
  has(newest.result->error(), "max_waiting");
  held->release();
  self.poll();
  CHECK(urgent.granted());
  urgent.release();
  self.poll();
  CHECK(light.granted());
  CHECK(self.gate.statistics()[batch].shed_total == 1);
}

TEST_CASE_FIXTURE(house, "a deadline that passes in the queue") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer late;
  answer patient;
  spawn(ask(gate, late, {}, batch, {.deadline = gate.in(5s)}));
  gate.async_admit({.options = {.deadline = gate.in(6s)}}, tell(patient));
  poll();
  time.advance(5s - 1ns);
  poll();
  CHECK(late.completions == 0);
  time.advance(1ns);
  CHECK(late.completions == 0);
  poll();
  CHECK(late.why() == reason::deadline_in_queue);
  CHECK(late.result->error().details().waited == 5s);
  has(late.result->error(), "batch");
  has(late.result->error(), "5");
  CHECK(patient.completions == 0);
  held->release();
  poll();
  CHECK(patient.granted());
  CHECK(gate.statistics()[batch].expired_total == 1);
}

TEST_CASE_FIXTURE(house, "a release at the very instant of a deadline has one outcome, and loses nothing") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer first;
  answer second;
  gate.async_admit({.options = {.deadline = gate.in(5s)}}, tell(first));
  gate.async_admit({}, tell(second));
  SUBCASE("released before the time is told") {
    held->release();
    time.advance(5s);
    poll();
    CHECK(first.granted());
    first.release();
    poll();
  }
  SUBCASE("released after") {
    time.advance(5s);
    held->release();
    poll();
    CHECK(first.why() == reason::deadline_in_queue);
  }
  CHECK(first.completions == 1);
  CHECK(second.granted());
  second.release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "closing refuses who waits and who comes, and lets run what runs") {
  auto held = gate.try_admit({.tokens = 10});
  REQUIRE(held);
  answer waits;
  spawn(ask(gate, waits, {}));
  poll();
  gate.close();
  gate.close();
  CHECK(waits.completions == 0);
  poll();
  CHECK(waits.why() == reason::closed);
  for (const way how : {way::admit, way::try_admit, way::async_admit})
    CHECK(refused_by(*this, how, {}).reason() == reason::closed);
  CHECK(gate.statistics().all.in_flight == 1);
  CHECK(held->settle({.input_tokens = 5, .output_tokens = 5}));
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "an awaitable that is never started gives its room back") {
  {
    auto unused = gate.admit({.tokens = 10});
    CHECK(gate.statistics().all.in_flight == 1);
  }
  CHECK(empty(gate));
  auto held = gate.try_admit({});
  REQUIRE(held);
  {
    auto unused = gate.admit({.tokens = 10});
    CHECK(gate.statistics().all.waiting == 0);
  }
  held->release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "run() returns when nothing is left, and not while somebody waits") {
  context.run();
  CHECK(context.stopped());
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer got;
  gate.async_admit({.options = {.deadline = gate.in(1h)}}, tell(got));
  context.restart();
  context.poll();
  CHECK_FALSE(context.stopped());
  held->release();
  context.run();
  CHECK(got.granted());
  CHECK(context.stopped());
}

TEST_CASE("run() of a bulkhead on the steady clock leaves no timer behind") {
  asio::io_context context;
  bulkhead gate(context.get_executor(), plain({.slots = 1, .tokens = 10}));
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer got;
  asio::co_spawn(context, ask(gate, got, {}, interactive, {.deadline = gate.in(1h)}), [](std::exception_ptr) {});
  asio::post(context, [&] { held->release(); });
  context.run();
  CHECK(got.granted());
  got.release();
  context.restart();
  CHECK(context.run() == 0);
}

TEST_CASE("the context of another executor is kept running by who waits there") {
  house self;
  asio::io_context other;
  auto held = self.gate.try_admit({});
  REQUIRE(held);
  answer got;
  self.gate.async_admit({}, asio::bind_executor(other.get_executor(), tell(got)));
  other.poll();
  CHECK_FALSE(other.stopped());
  self.context.run();
  CHECK(self.context.stopped());
  held->release();
  other.run();
  CHECK(got.granted());
}

TEST_CASE("what a bulkhead says of itself") {
  house self(lending());
  CHECK(self.gate.current_policy().total == capacity{.slots = 2, .tokens = 1'000});
  CHECK(self.gate.get_executor() == self.context.get_executor());
  CHECK(&self.gate.time() == &self.time);
  CHECK(self.gate.in(3s) == self.time.now() + 3s);
  CHECK(self.gate.in(duration::max()) == never);
  CHECK(self.gate.statistics().class_count == 2);
  policy wrong = lending();
  wrong[batch].floor.slots = 5;
  CHECK_THROWS_AS(bulkhead(self.context.get_executor(), wrong), error_exception);
}
