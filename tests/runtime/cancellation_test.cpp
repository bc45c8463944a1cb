// Who is cancelled leaves the queue, is told so, and costs nothing; a grant that races with it serves the next.
#include "runtime/house.hpp"

#include <asio/bind_executor.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/strand.hpp>

#include <array>
#include <variant>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

constexpr std::array every_type{asio::cancellation_type::terminal, asio::cancellation_type::partial,
                                asio::cancellation_type::total};

/// Asks, and awaits once more.
asio::awaitable<void> ask_twice(bulkhead& gate, answer& into, bool& came_by) {
  into(co_await gate.admit({.tokens = 10}));
  into.release();
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  came_by = true;
}

}  // namespace

TEST_CASE_FIXTURE(house, "a callback that waits is cancelled by every type") {
  auto held = gate.try_admit({.tokens = 10});
  REQUIRE(held);
  for (const auto type : every_type) {
    asio::cancellation_signal stop;
    answer got;
    gate.async_admit({.cost = {.tokens = 10}}, asio::bind_cancellation_slot(stop.slot(), tell(got)));
    poll();
    CHECK(gate.statistics().all.waiting == 1);
    stop.emit(type);
    CHECK(gate.statistics().all.waiting == 0);
    CHECK(got.completions == 0);
    // Once more before it has been told: harmless.
    stop.emit(type);
    poll();
    CHECK(got.completions == 1);
    CHECK(got.why() == reason::cancelled);
    CHECK(got.result->error().details().asked.tokens == 10);
    CHECK_FALSE(got.result->error().explain().empty());
    // And after.
    stop.emit(type);
    poll();
    CHECK(got.completions == 1);
  }
  CHECK(gate.statistics().all.cancelled_total == 3);
  held->release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "granted but not yet told: the capacity goes to the next waiter") {
  auto held = gate.try_admit({.tokens = 10});
  REQUIRE(held);
  asio::cancellation_signal stop;
  answer first;
  answer second;
  gate.async_admit({}, asio::bind_cancellation_slot(stop.slot(), tell(first)));
  gate.async_admit({}, tell(second));
  held->release();
  CHECK(gate.statistics().all.in_flight == 1);
  CHECK(gate.statistics().all.waiting == 1);
  stop.emit(asio::cancellation_type::total);
  CHECK(gate.statistics().all.in_flight == 1);
  CHECK(gate.statistics().all.waiting == 0);
  poll();
  CHECK(first.why() == reason::cancelled);
  CHECK(first.completions == 1);
  CHECK(second.granted());
  second.release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "one completion that cancels the next of the same turn") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  asio::cancellation_signal stop;
  answer second;
  answer third;
  gate.close();
  bulkhead other(context.get_executor(), plain({.slots = 2, .tokens = 10}), time);
  auto both = other.try_admit({.slots = 2});
  REQUIRE(both);
  std::optional<admission_result> first;
  other.async_admit({}, [&](admission_result got) {
    first.emplace(std::move(got));
    stop.emit(asio::cancellation_type::partial);
  });
  other.async_admit({}, asio::bind_cancellation_slot(stop.slot(), tell(second)));
  other.async_admit({}, tell(third));
  both->release();
  poll();
  CHECK(second.why() == reason::cancelled);
  CHECK(third.granted());
  first.reset();
  third.release();
  CHECK(empty(other));
}

TEST_CASE_FIXTURE(house, "a refusal that is on its way stays what it is") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  asio::cancellation_signal stop;
  answer late;
  gate.async_admit({.options = {.deadline = gate.in(1s)}}, asio::bind_cancellation_slot(stop.slot(), tell(late)));
  time.advance(1s);
  stop.emit(asio::cancellation_type::total);
  poll();
  CHECK(late.why() == reason::deadline_in_queue);
}

TEST_CASE_FIXTURE(house, "on another executor: waiting, and granted but not told") {
  asio::io_context other;
  auto strand = asio::make_strand(other);
  auto held = gate.try_admit({});
  REQUIRE(held);
  asio::cancellation_signal stop;
  answer first;
  answer second;
  gate.async_admit({}, asio::bind_executor(strand, asio::bind_cancellation_slot(stop.slot(), tell(first))));
  gate.async_admit({}, asio::bind_executor(strand, tell(second)));
  SUBCASE("waiting") {
    stop.emit(asio::cancellation_type::terminal);
    held->release();
  }
  SUBCASE("granted") {
    held->release();
    stop.emit(asio::cancellation_type::terminal);
  }
  CHECK(first.completions == 0);
  other.poll();
  CHECK(first.why() == reason::cancelled);
  CHECK(second.granted());
  second.release();
  CHECK(empty(gate));
}

TEST_CASE("a coroutine that waits is told by its result, and by an exception at its next co_await") {
  for (const auto type : every_type) {
    house self;
    asio::cancellation_signal stop;
    answer got;
    bool came_by = false;
    auto held = self.gate.try_admit({});
    REQUIRE(held);
    asio::co_spawn(self.context, ask_twice(self.gate, got, came_by),
                   asio::bind_cancellation_slot(stop.slot(), self.ended.handler()));
    self.poll();
    stop.emit(type);
    self.poll();
    // A coroutine lets through terminal cancellation alone, until it says otherwise.
    const bool heard = type == asio::cancellation_type::terminal;
    CHECK(self.ended.ended == heard);
    CHECK(self.ended.threw_aborted() == heard);
    CHECK(got.completions == (heard ? 1 : 0));
    CHECK(self.gate.statistics().all.waiting == (heard ? 0 : 1));
    held->release();
    self.poll();
    CHECK(came_by != heard);
    CHECK(empty(self.gate));
  }
}

TEST_CASE_FIXTURE(house, "a coroutine that lets total and partial through") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  for (const auto type : every_type) {
    asio::cancellation_signal stop;
    std::optional<reason> why;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
          co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
          co_await asio::this_coro::throw_if_cancelled(false);
          auto got = co_await gate.admit({});
          if (!got) why = got.error().reason();
        },
        asio::bind_cancellation_slot(stop.slot(), ended.handler()));
    poll();
    stop.emit(type);
    poll();
    CHECK(ended.ended);
    CHECK(why == reason::cancelled);
  }
  held->release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "cancelled before it asks, it never gets anything") {
  asio::cancellation_signal stop;
  answer got;
  bool came_by = false;
  asio::co_spawn(context, ask_twice(gate, got, came_by), asio::bind_cancellation_slot(stop.slot(), ended.handler()));
  stop.emit(asio::cancellation_type::terminal);
  poll();
  CHECK(ended.threw_aborted());
  CHECK(got.completions == 0);
  CHECK(empty(gate));
  // The same when it would have to wait.
  auto held = gate.try_admit({});
  REQUIRE(held);
  asio::cancellation_signal again;
  asio::co_spawn(context, ask_twice(gate, got, came_by), asio::bind_cancellation_slot(again.slot(), ended.handler()));
  again.emit(asio::cancellation_type::terminal);
  poll();
  CHECK(got.completions == 0);
  CHECK_FALSE(came_by);
  held->release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "a coroutine granted but not resumed gives its capacity to the next") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  asio::cancellation_signal stop;
  answer first;
  answer second;
  bool came_by = false;
  asio::co_spawn(context, ask_twice(gate, first, came_by), asio::bind_cancellation_slot(stop.slot(), ended.handler()));
  poll();
  gate.async_admit({}, tell(second));
  held->release();
  stop.emit(asio::cancellation_type::terminal);
  poll();
  CHECK(first.completions == 1);
  CHECK(ended.threw_aborted());
  CHECK_FALSE(came_by);
  CHECK(second.granted());
}

TEST_CASE_FIXTURE(house, "raced against something else with the awaitable operators") {
  using namespace asio::experimental::awaitable_operators;
  auto held = gate.try_admit({});
  REQUIRE(held);
  std::size_t winner = 9;
  asio::steady_timer timer(context, asio::steady_timer::time_point::min());
  spawn([](house& self, asio::steady_timer& other, std::size_t& index) -> asio::awaitable<void> {
    auto both = co_await (self.gate.admit({}) || other.async_wait(asio::use_awaitable));
    index = both.index();
  }(*this, timer, winner));
  context.restart();
  context.run();
  CHECK(winner == 1);
  CHECK(gate.statistics().all.waiting == 0);
  held->release();
  CHECK(empty(gate));
}

TEST_CASE("ten thousand waiters of one coroutine each, cancelled from the middle outwards") {
  house self;
  auto held = self.gate.try_admit({});
  REQUIRE(held);
  constexpr std::size_t many = 10'000;
  std::vector<asio::cancellation_signal> stops(many);
  std::vector<answer> answers(many);
  policy wide = plain({.slots = 1, .tokens = 1'000});
  wide.max_waiting = many;
  wide.revision = 2;
  REQUIRE(self.gate.reconfigure(wide));
  for (std::size_t n = 0; n < many; ++n) {
    asio::co_spawn(self.context, ask(self.gate, answers[n], {}),
                   asio::bind_cancellation_slot(stops[n].slot(), [](std::exception_ptr) {}));
  }
  self.poll();
  CHECK(self.gate.statistics().all.waiting == static_cast<std::int64_t>(many));
  for (std::size_t n = 0; n < many; ++n) {
    const std::size_t half = many / 2;
    const std::size_t which = n % 2 == 0 ? half + n / 2 : half - 1 - n / 2;
    if (which != 77) stops[which].emit(asio::cancellation_type::terminal);
  }
  CHECK(self.gate.statistics().all.waiting == 1);
  held->release();
  self.poll();
  CHECK(answers[77].granted());
  CHECK(answers[0].why() == reason::cancelled);
  CHECK(answers[many - 1].why() == reason::cancelled);
  answers[77].release();
  CHECK(empty(self.gate));
}
