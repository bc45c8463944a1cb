// `bulkhead::run`: admit, work under guard, come again when preempted, release on every path out.
#include "runtime/house.hpp"

#include <stdexcept>
#include <string>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

/// Two slots, all of them interactive's floor and lent to batch.
policy all_lent() {
  policy made = lending();
  made[interactive].floor = {.slots = 2, .tokens = 1'000};
  return made;
}

struct lent : house {
  lent() : house(all_lent()) {}
  std::vector<std::unique_ptr<answer>> urgent;
  int attempts = 0;
  int held_while_working = 0;

  void preempt() {
    urgent.push_back(std::make_unique<answer>());
    gate.async_admit({.cost = {.tokens = 10, .slots = 2}}, tell(*urgent.back()));
    time.advance(1s);
    poll();
  }

  /// Works until it is stopped; the attempt of this number ends well.
  asio::awaitable<int> work(permit& held, int last) {
    ++attempts;
    held_while_working += static_cast<bool>(held) ? 1 : 0;
    if (attempts < last) co_await wait_for_ever();
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    co_return 40 + attempts;
  }
};

}  // namespace

TEST_CASE_FIXTURE(lent, "gives what the work gave, and releases") {
  std::optional<expected<int, rejection>> got;
  bool nothing = false;
  spawn([](lent& self, std::optional<expected<int, rejection>>& into, bool& was_void) -> asio::awaitable<void> {
    into.emplace(co_await self.gate.run({.tokens = 10}, batch, [&](permit& held) { return self.work(held, 1); }));
    const auto empty_work = [](permit&) -> asio::awaitable<void> { co_return; };
    was_void = (co_await self.gate.run({.tokens = 10}, interactive, empty_work)).has_value();
  }(*this, got, nothing));
  poll();
  REQUIRE(got);
  CHECK(got->value() == 41);
  CHECK(nothing);
  CHECK(held_while_working == 1);
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent, "a refusal is given, and the work is not called") {
  std::optional<expected<int, rejection>> got;
  spawn([](lent& self, std::optional<expected<int, rejection>>& into) -> asio::awaitable<void> {
    into.emplace(co_await self.gate.run({.tokens = 1'001}, batch, [&](permit& held) { return self.work(held, 1); }));
  }(*this, got));
  poll();
  REQUIRE(got);
  REQUIRE_FALSE(got->has_value());
  CHECK(got->error().reason() == reason::impossible);
  CHECK(attempts == 0);
}

TEST_CASE_FIXTURE(lent, "exceptions of the work, and of the call that makes it, pass and release") {
  const auto throws_at_once = [](permit&) -> asio::awaitable<int> { throw std::runtime_error("at once"); };
  const auto throws_later = [](permit&) -> asio::awaitable<int> {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    throw std::runtime_error("later");
  };
  // No coroutine: it throws before there is anything to await.
  const auto is_no_coroutine = [](permit& held) -> asio::awaitable<int> {
    if (held) throw std::runtime_error("while it was made");
    return asio::awaitable<int>();
  };
  const auto check = [&](auto work, const char* said) {
    spawn([](lent& self, auto given) -> asio::awaitable<void> {
      (void)co_await self.gate.run({.tokens = 10}, batch, given);
    }(*this, work));
    poll();
    REQUIRE(ended.thrown);
    CHECK_THROWS_WITH_AS(std::rethrow_exception(ended.thrown), said, std::runtime_error);
    ended = {};
    CHECK(empty(gate));
  };
  check(throws_at_once, "at once");
  check(throws_later, "later");
  check(is_no_coroutine, "while it was made");
}

TEST_CASE_FIXTURE(lent, "preempted, it is queued with its age and its place, and at most twice") {
  std::optional<expected<int, rejection>> got;
  spawn([](lent& self, std::optional<expected<int, rejection>>& into) -> asio::awaitable<void> {
    into.emplace(co_await self.gate.run({.tokens = 10}, batch, [&](permit& held) { return self.work(held, 4); }));
  }(*this, got));
  poll();
  CHECK(attempts == 1);
  // Another of the same class, younger.
  answer younger;
  for (int round = 1; round <= 2; ++round) {
    preempt();
    CHECK(urgent.back()->granted());
    CHECK(gate.statistics()[batch].preempted_total == round);
    CHECK(gate.statistics()[batch].waiting >= 1);
    if (round == 1) gate.async_admit({.cost = {.tokens = 10, .slots = 2}, .workload = batch}, tell(younger));
    urgent.back()->release();
    poll();
    CHECK(attempts == round + 1);
    CHECK(younger.completions == 0);
  }
  // It has been preempted twice: now it runs to its end.
  preempt();
  CHECK(urgent.back()->completions == 0);
  CHECK(attempts == 3);
  CHECK(gate.statistics()[batch].preempted_total == 2);
  CHECK_FALSE(got);
}

TEST_CASE_FIXTURE(lent, "the second attempt's result is the result") {
  std::optional<expected<int, rejection>> got;
  spawn([](lent& self, std::optional<expected<int, rejection>>& into) -> asio::awaitable<void> {
    into.emplace(co_await self.gate.run({.tokens = 10}, batch, [&](permit& held) { return self.work(held, 2); }));
  }(*this, got));
  poll();
  preempt();
  urgent.back()->release();
  poll();
  REQUIRE(got);
  CHECK(got->value() == 42);
  CHECK(held_while_working == 2);
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent, "preempted and then refused: its deadline still holds") {
  std::optional<expected<int, rejection>> got;
  spawn([](lent& self, std::optional<expected<int, rejection>>& into) -> asio::awaitable<void> {
    into.emplace(co_await self.gate.run({.tokens = 10}, batch, [&](permit& held) { return self.work(held, 2); },
                                        {.deadline = self.gate.in(10s)}));
  }(*this, got));
  poll();
  preempt();
  CHECK(urgent.back()->granted());
  time.advance(9s);
  poll();
  REQUIRE(got);
  REQUIRE_FALSE(got->has_value());
  CHECK(got->error().reason() == reason::deadline_in_queue);
  CHECK(attempts == 1);
  urgent.back()->release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent, "cancelled while it waits, while it works, and while it waits to come again") {
  for (int where = 0; where < 3; ++where) {
    CAPTURE(where);
    attempts = 0;
    ended = {};
    asio::cancellation_signal stop;
    std::optional<expected<int, rejection>> got;
    auto blocker = where == 0 ? gate.try_admit({.slots = 2}) : gate.try_admit({.slots = 0});
    REQUIRE(blocker);
    asio::co_spawn(
        context,
        [](lent& self, std::optional<expected<int, rejection>>& into) -> asio::awaitable<void> {
          into.emplace(co_await self.gate.run({.tokens = 10}, batch, [&](permit& held) { return self.work(held, 9); }));
        }(*this, got),
        asio::bind_cancellation_slot(stop.slot(), ended.handler()));
    poll();
    CHECK(attempts == (where == 0 ? 0 : 1));
    if (where == 2) preempt();
    stop.emit(asio::cancellation_type::terminal);
    poll();
    CHECK(ended.ended);
    if (where == 1) CHECK(ended.threw_aborted());
    if (where != 1) {
      // `run` gives the refusal to a caller whose cancellation has been heard: the caller's own co_await then throws.
      CHECK((ended.threw_aborted() || (got && got->error().reason() == reason::cancelled)));
    }
    urgent.clear();
    blocker->release();
    CHECK(empty(gate));
  }
}

TEST_CASE_FIXTURE(lent, "the work may settle its own permit") {
  std::optional<expected<int, rejection>> got;
  spawn([](lent& self, std::optional<expected<int, rejection>>& into) -> asio::awaitable<void> {
    const auto work = [](permit& held) -> asio::awaitable<int> {
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
      CHECK(held.settle({.input_tokens = 4, .output_tokens = 3}));
      co_return 1;
    };
    into.emplace(co_await self.gate.run({.tokens = 10}, batch, work));
  }(*this, got));
  poll();
  REQUIRE(got);
  CHECK(got->value() == 1);
  CHECK(gate.statistics()[batch].consumed_tokens_total == 7);
  CHECK(empty(gate));
}
