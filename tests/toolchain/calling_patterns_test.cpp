// Every way in which a program is shown to call sluice, as GCC 12 compiles it. That compiler destroys some temporaries
// of a `co_await` expression twice; sluice's types are made so that what a user writes in braces is not among them. Run
// under AddressSanitizer, this file shows that it is so.
#include <sluice/runtime/bulkhead.hpp>

#include <doctest/doctest.h>
#include <asio/co_spawn.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using namespace std::chrono_literals;

template <typename... Types>
constexpr bool safe_in_braces = ((std::is_aggregate_v<Types> && std::is_trivially_destructible_v<Types>)&&...);
static_assert(safe_in_braces<sluice::capacity, sluice::cost, sluice::usage, sluice::progress, sluice::age>);
static_assert(safe_in_braces<sluice::admit_options, sluice::admit_request>);
static_assert(std::is_trivially_destructible_v<sluice::workload>);
// What owns memory has a constructor instead.
static_assert(!std::is_aggregate_v<sluice::policy> && !std::is_aggregate_v<sluice::class_policy>);
static_assert(!std::is_aggregate_v<sluice::permit> && !std::is_aggregate_v<sluice::rejection>);
static_assert(!std::is_aggregate_v<sluice::error>);

struct house {
  asio::io_context context;
  sluice::bulkhead gate{context.get_executor(), sluice::policy({.slots = 2, .tokens = 8'000})};

  // Runs `program` to its end. Whatever it did, nothing may be held or waiting afterwards.
  void run(asio::awaitable<void> program) {
    std::exception_ptr failure;
    bool ended = false;
    asio::co_spawn(context, std::move(program), [&](std::exception_ptr thrown) {
      failure = thrown;
      ended = true;
    });
    context.run();
    CHECK(ended);
    if (failure) std::rethrow_exception(failure);
    CHECK(gate.try_admit({.tokens = 8'000, .slots = 2}));
  }
};

// Answers as a provider would: not at once, and with something that owns memory.
asio::awaitable<std::string> call_model(std::shared_ptr<int> witness) {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  co_return "an answer that is too long to be kept inside the string, number " + std::to_string(*witness);
}

asio::awaitable<sluice::usage> measure() {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  co_return sluice::usage{.input_tokens = 900, .output_tokens = 100};
}

}  // namespace

TEST_CASE_FIXTURE(house, "braces inside co_await admit") {
  run([](house& self) -> asio::awaitable<void> {
    auto permit = co_await self.gate.admit({.tokens = 1'600}, sluice::interactive);
    CHECK(permit.has_value());
    auto second = co_await self.gate.admit({.tokens = 1'600, .output_tokens = 400}, sluice::batch,
                                           {.deadline = self.gate.in(30s)});
    CHECK(second.has_value());
    auto refused = co_await self.gate.admit({.tokens = 9'942}, sluice::interactive, {.deadline = self.gate.in(30s)});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().reason() == sluice::reason::impossible);
    CHECK_FALSE(refused.error().explain().empty());
  }(*this));
}

TEST_CASE_FIXTURE(house, "the result used inside the expression that awaits it") {
  run([](house& self) -> asio::awaitable<void> {
    CHECK((co_await self.gate.admit({.tokens = 100})).has_value());
    if (auto permit = co_await self.gate.admit({.tokens = 8'000, .slots = 2}); permit) {
      CHECK_FALSE(self.gate.try_admit({.tokens = 1}));
    }
    const auto why = (co_await self.gate.admit({.tokens = -1}, sluice::batch, {})).error().explain();
    CHECK_FALSE(why.empty());
    sluice::permit taken = std::move((co_await self.gate.admit({.tokens = 8'000})).value());
    CHECK(static_cast<bool>(taken));
  }(*this));
}

TEST_CASE_FIXTURE(house, "an awaitable that is named and awaited later") {
  run([](house& self) -> asio::awaitable<void> {
    auto asking = self.gate.admit({.tokens = 7'000, .slots = 2}, sluice::batch, {.deadline = sluice::never});
    auto permit = co_await std::move(asking);
    CHECK(permit.has_value());
  }(*this));
}

TEST_CASE_FIXTURE(house, "async_admit with braces within braces") {
  run([](house& self) -> asio::awaitable<void> {
    auto permit =
        co_await self.gate.async_admit({.cost = {.tokens = 100}, .workload = sluice::batch}, asio::use_awaitable);
    CHECK(permit.has_value());
    auto late = co_await self.gate.async_admit(
        {.cost = {.tokens = 100, .slots = 2}, .options = {.deadline = sluice::instant{}}}, asio::use_awaitable);
    REQUIRE_FALSE(late.has_value());
    CHECK(late.error().reason() == sluice::reason::deadline_passed);
  }(*this));
}

TEST_CASE_FIXTURE(house, "reconcile and settle with braces, beside and around co_await") {
  run([](house& self) -> asio::awaitable<void> {
    auto permit = co_await self.gate.admit({.tokens = 1'600, .output_tokens = 600});
    REQUIRE(permit.has_value());
    CHECK(permit->reconcile({.input_tokens = 900, .output_tokens = 10, .remaining_output = 590}));
    CHECK(permit->settle(co_await measure()));
    CHECK_FALSE(permit->settle({.input_tokens = 900, .output_tokens = 100}));
  }(*this));
}

TEST_CASE_FIXTURE(house, "guard takes the awaitable of a call made in place") {
  auto witness = std::make_shared<int>(7);
  run([](house& self, std::shared_ptr<int> number) -> asio::awaitable<void> {
    auto permit = co_await self.gate.admit({.tokens = 1'600});
    REQUIRE(permit.has_value());
    auto reply = co_await permit->guard(call_model(number));
    REQUIRE(reply.has_value());
    CHECK(reply->ends_with("number 7"));
    CHECK((co_await permit->guard(call_model(std::move(number)))).value().ends_with("number 7"));
  }(*this, witness));
  CHECK(witness.use_count() == 1);
}

TEST_CASE_FIXTURE(house, "run with work that captures nothing, references, and a named capture by value") {
  auto witness = std::make_shared<int>(7);
  run([](house& self, std::shared_ptr<int> number) -> asio::awaitable<void> {
    auto plain = co_await self.gate.run({.tokens = 100}, sluice::interactive,
                                        [](sluice::permit&) -> asio::awaitable<sluice::usage> { return measure(); });
    REQUIRE(plain.has_value());
    CHECK(plain->input_tokens == 900);

    auto by_reference =
        co_await self.gate.run({.tokens = 100}, sluice::batch, [&](sluice::permit&) { return call_model(number); },
                               {.deadline = self.gate.in(30s)});
    CHECK(by_reference.has_value());

    auto by_value = [number](sluice::permit&) { return call_model(number); };
    auto named = co_await self.gate.run({.tokens = 100}, sluice::batch, by_value);
    REQUIRE(named.has_value());
    CHECK(named->ends_with("number 7"));
  }(*this, witness));
  CHECK(witness.use_count() == 1);
}

TEST_CASE_FIXTURE(house, "admissions joined with the awaitable operators") {
  run([](house& self) -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    auto both = co_await (self.gate.admit({.tokens = 100}) && self.gate.admit({.tokens = 200}, sluice::batch));
    CHECK(std::get<0>(both).has_value());
    CHECK(std::get<1>(both).has_value());
  }(*this));
}

TEST_CASE_FIXTURE(house, "a waiter that is served when another permit ends") {
  run([](house& self) -> asio::awaitable<void> {
    auto first = self.gate.try_admit({.tokens = 8'000, .slots = 2});
    REQUIRE(first.has_value());
    asio::post(self.context, [&] { first->release(); });
    auto second = co_await self.gate.admit({.tokens = 8'000}, sluice::interactive, {.deadline = self.gate.in(1h)});
    CHECK(second.has_value());
  }(*this));
}
