// A permit holds a reservation and gives it back, whatever becomes of it.
#include "runtime/house.hpp"

#include <limits>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

bool is_invalid(const expected<void, error>& result) { return !result && result.error().is(errc::invalid_argument); }

}  // namespace

TEST_CASE_FIXTURE(house, "destroyed, released and settled: the capacity is back each time") {
  { CHECK(gate.try_admit({.tokens = 1'000})); }
  CHECK(empty(gate));
  auto second = gate.try_admit({.tokens = 1'000});
  REQUIRE(second);
  CHECK(static_cast<bool>(*second));
  second->release();
  CHECK_FALSE(static_cast<bool>(*second));
  CHECK(empty(gate));
  auto third = gate.try_admit({.tokens = 1'000});
  REQUIRE(third);
  CHECK(third->settle({.input_tokens = 400, .output_tokens = 100}));
  CHECK(empty(gate));
  const class_statistics all = gate.statistics().all;
  CHECK(all.reserved_tokens_total == 3'000);
  CHECK(all.consumed_tokens_total == 500);
  CHECK(all.refunded_tokens_total == 2'500);
}

TEST_CASE_FIXTURE(house, "ended twice, in every order") {
  auto held = gate.try_admit({.tokens = 10});
  REQUIRE(held);
  CHECK(held->settle({.input_tokens = 1}));
  CHECK(is_invalid(held->settle({.input_tokens = 1})));
  held->release();
  held->release();
  CHECK(is_invalid(held->reconcile({.input_tokens = 1})));
  CHECK_FALSE(held->explain());
  CHECK(held->age() == age{});
  CHECK(empty(gate));
  CHECK(gate.statistics().all.consumed_tokens_total == 1);
  // The next holder of the same place is not touched by the old one.
  auto next = gate.try_admit({.tokens = 10});
  held->release();
  CHECK(is_invalid(held->settle({})));
  CHECK(gate.statistics().all.in_flight == 1);
}

TEST_CASE_FIXTURE(house, "moved: the capacity goes with it, once") {
  auto first = gate.try_admit({.tokens = 10});
  REQUIRE(first);
  permit second = std::move(*first);
  CHECK_FALSE(static_cast<bool>(*first));
  CHECK(static_cast<bool>(second));
  first->release();
  CHECK(is_invalid(first->settle({})));
  CHECK(gate.statistics().all.in_flight == 1);
  permit& same = second;
  second = std::move(same);
  CHECK(static_cast<bool>(second));
  permit third;
  CHECK_FALSE(static_cast<bool>(third));
  third.release();
  third = std::move(second);
  CHECK(gate.statistics().all.in_flight == 1);
  // Assigning over a permit ends what it held.
  third = permit();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(house, "reconcile gives back what is not needed, and serves who waits for it at once") {
  auto held = gate.try_admit({.tokens = 1'000, .output_tokens = 600, .slots = 0});
  REQUIRE(held);
  answer waits;
  gate.async_admit({.cost = {.tokens = 300}}, tell(waits));
  CHECK(held->reconcile({.input_tokens = 400, .output_tokens = 0, .remaining_output = 600, .margin = 100}));
  CHECK(gate.statistics().all.held.tokens == 1'000);
  CHECK(held->reconcile({.input_tokens = 400, .output_tokens = 50, .remaining_output = 550, .margin = 150}));
  CHECK(gate.statistics().all.held.tokens == 700 + 300);
  poll();
  CHECK(waits.granted());
  // What is not further on changes nothing.
  CHECK(held->reconcile({.input_tokens = 300, .output_tokens = 40, .remaining_output = 0}));
  CHECK(gate.statistics().all.held.tokens == 1'000);
  CHECK(held->settle({.input_tokens = 400, .output_tokens = 60}));
  CHECK(gate.statistics().all.held.tokens == 300);
}

TEST_CASE_FIXTURE(house, "numbers that make no sense change nothing") {
  auto held = gate.try_admit({.tokens = 100, .output_tokens = 60});
  REQUIRE(held);
  const statistics before = gate.statistics();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(is_invalid(held->reconcile({.input_tokens = -1})));
  CHECK(is_invalid(held->reconcile({.output_tokens = -1})));
  CHECK(is_invalid(held->reconcile({.input_tokens = most, .output_tokens = most})));
  CHECK(is_invalid(held->reconcile({.remaining_output = 61})));
  CHECK(is_invalid(held->reconcile({.remaining_output = 1, .margin = -1})));
  CHECK(is_invalid(held->settle({.input_tokens = -1})));
  CHECK(is_invalid(held->settle({.output_tokens = std::numeric_limits<std::int64_t>::min()})));
  CHECK(static_cast<bool>(*held));
  CHECK(gate.statistics().all == before.all);
  CHECK(held->settle({.input_tokens = most, .output_tokens = most}));
  CHECK(empty(gate));
  CHECK(gate.statistics().all.overrun_tokens_total > 0);
}

TEST_CASE_FIXTURE(house, "what it says of its decision and its age") {
  auto held = gate.try_admit({.tokens = 10}, batch, {.deadline = gate.in(1s)});
  REQUIRE(held);
  const auto first = held->explain();
  REQUIRE(first);
  CHECK(first->outcome == outcome::granted);
  CHECK(first->asked == cost{.tokens = 10});
  CHECK(first->workload == batch);
  CHECK(first->revision == 1);
  CHECK(first->at == gate.now());

  answer later;
  gate.async_admit({.cost = {.tokens = 20}}, tell(later));
  const instant came = gate.now();
  time.advance(3s);
  held->release();
  poll();
  REQUIRE(later.granted());
  CHECK((**later.result).explain()->waited == 3s);
  CHECK((**later.result).age().arrived == came);
  CHECK((**later.result).age().sequence != 0);
  CHECK((**later.result).age().preemptions == 0);
}

TEST_CASE_FIXTURE(house, "an exception, and a coroutine destroyed where it waits for something else") {
  spawn([](house& self) -> asio::awaitable<void> {
    auto held = co_await self.gate.admit({.tokens = 10});
    if (held) throw 7;
  }(*this));
  poll();
  CHECK(ended.thrown);
  CHECK(empty(gate));
  {
    asio::io_context other;
    asio::co_spawn(
        other,
        [this]() -> asio::awaitable<void> {
          auto held = co_await gate.admit({.tokens = 10});
          co_await wait_for_ever();
        },
        [](std::exception_ptr) {});
    other.poll();
    CHECK(gate.statistics().all.in_flight == 1);
  }
  CHECK(empty(gate));
}

TEST_CASE("it outlives the bulkhead, and the context as well") {
  auto time = std::make_unique<testing::manual_time_source>();
  auto context = std::make_unique<asio::io_context>();
  auto gate = std::make_unique<bulkhead>(context->get_executor(), plain({.slots = 3, .tokens = 100}), *time);
  auto first = gate->try_admit({.tokens = 10, .output_tokens = 5});
  auto second = gate->try_admit({.tokens = 10});
  auto third = gate->try_admit({.tokens = 10});
  REQUIRE(first);
  REQUIRE(second);
  REQUIRE(third);
  SUBCASE("bulkhead first") {
    gate.reset();
    time.reset();
    CHECK(first->reconcile({.input_tokens = 5, .output_tokens = 1, .remaining_output = 4}));
    second->release();
    context.reset();
  }
  SUBCASE("context first") {
    context.reset();
    CHECK(first->reconcile({.input_tokens = 5, .output_tokens = 1, .remaining_output = 4}));
    second->release();
    CHECK(gate->statistics().all.in_flight == 2);
    gate.reset();
    time.reset();
  }
  CHECK(first->explain());
  CHECK(first->age().sequence != 0);
  CHECK(first->settle({.input_tokens = 5, .output_tokens = 2}));
  CHECK(static_cast<bool>(*third));
}
