// `permit::guard`: results and exceptions pass, preemption and the caller's cancellation stop the work.
#include "runtime/house.hpp"

#include <asio/thread_pool.hpp>

#include <atomic>
#include <future>
#include <string>
#include <thread>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

asio::awaitable<std::string> give(std::string what) {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  co_return what;
}

asio::awaitable<void> fail() {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  throw std::runtime_error("the work failed");
}

/// Is told to stop, and ends with a result in spite of it.
asio::awaitable<int> stubborn() {
  try {
    co_await wait_for_ever();
  } catch (const std::system_error&) {
  }
  co_return 7;
}

/// Says itself that it was cancelled.
asio::awaitable<expected<int, error>> polite() {
  try {
    co_await wait_for_ever();
  } catch (const std::system_error&) {
  }
  co_return unexpected<error>(error(errc::cancelled, "stopped"));
}

/// Two slots, all of them interactive's floor and lent to batch.
struct lent : house {
  static policy rules() {
    policy made = lending();
    made[interactive].floor = {.slots = 2, .tokens = 1'000};
    return made;
  }
  lent() : house(rules()) {}
  answer urgent;

  /// Interactive work comes for both slots and has waited long enough.
  void preempt() {
    gate.async_admit({.cost = {.tokens = 10, .slots = 2}}, tell(urgent));
    time.advance(1s);
  }
};

}  // namespace

TEST_CASE_FIXTURE(lent, "results pass, of value and of void") {
  std::string said;
  bool was_void = false;
  spawn([](lent& self, std::string& text, bool& nothing) -> asio::awaitable<void> {
    for (const workload as : {interactive, batch}) {
      auto held = co_await self.gate.admit({.tokens = 10}, as);
      REQUIRE(held);
      auto got = co_await held->guard(give("an answer of its own"));
      REQUIRE(got);
      text += *got;
      auto work = []() -> asio::awaitable<void> { co_return; };
      nothing = (co_await held->guard(work())).has_value();
      CHECK(static_cast<bool>(*held));
      CHECK(held->age().preemptions == 0);
    }
  }(*this, said, was_void));
  poll();
  CHECK(ended.ended);
  CHECK_FALSE(ended.thrown);
  CHECK(said == "an answer of its ownan answer of its own");
  CHECK(was_void);
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent, "exceptions pass") {
  for (const workload as : {interactive, batch}) {
    spawn([](lent& self, workload which) -> asio::awaitable<void> {
      auto held = co_await self.gate.admit({.tokens = 10}, which);
      REQUIRE(held);
      (void)co_await held->guard(fail());
    }(*this, as));
    poll();
    REQUIRE(ended.thrown);
    CHECK_THROWS_WITH_AS(std::rethrow_exception(ended.thrown), "the work failed", std::runtime_error);
    CHECK(empty(gate));
    ended = {};
  }
}

TEST_CASE_FIXTURE(lent, "work that cannot be preempted runs where its caller runs, without a coroutine of its own") {
  bool same = false;
  spawn([](lent& self, bool& is_same) -> asio::awaitable<void> {
    auto held = co_await self.gate.admit({.tokens = 10}, interactive);
    REQUIRE(held);
    bool posted = false;
    asio::post(self.context, [&] { posted = true; });
    const asio::any_io_executor own = co_await asio::this_coro::executor;
    auto work = [](const asio::any_io_executor& callers) -> asio::awaitable<bool> {
      co_return callers == co_await asio::this_coro::executor;
    };
    auto got = co_await held->guard(work(own));
    is_same = got && *got && !posted;
    co_await asio::post(own, asio::use_awaitable);
  }(*this, same));
  poll();
  CHECK(ended.ended);
  CHECK(same);
}

TEST_CASE_FIXTURE(lent, "an empty permit guards nothing") {
  bool began = false;
  spawn([](bool& ran) -> asio::awaitable<void> {
    permit none;
    auto work = [](bool& mark) -> asio::awaitable<void> {
      mark = true;
      co_return;
    };
    auto got = co_await none.guard(work(ran));
    REQUIRE_FALSE(got);
    CHECK(got.error().is(errc::invalid_argument));
  }(began));
  poll();
  CHECK(ended.ended);
  CHECK_FALSE(began);
}

TEST_CASE_FIXTURE(lent, "preempted: the work is cancelled, the caller is told, and the permit counts it") {
  std::string trace;
  permit kept;
  sluice::age before;
  spawn([](lent& self, permit& held, sluice::age& first, std::string& out) -> asio::awaitable<void> {
    held = (co_await self.gate.admit({.tokens = 10}, batch)).value();
    first = held.age();
    auto done = co_await held.guard(wait_for_ever());
    REQUIRE_FALSE(done);
    CHECK(done.error().is(errc::preempted));
    // The caller itself is not cancelled.
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    out += "preempted";
  }(*this, kept, before, trace));
  poll();
  preempt();
  CHECK(trace.empty());
  poll();
  CHECK_FALSE(ended.thrown);
  CHECK(trace == "preempted");
  CHECK(urgent.completions == 0);
  CHECK(kept.age().preemptions == 1);
  CHECK(kept.age().sequence == before.sequence);
  kept.release();
  poll();
  CHECK(urgent.granted());
  CHECK(gate.statistics()[batch].preempted_total == 1);
  urgent.release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent, "work that ends with a result in spite of it gives the result, and is no preemption") {
  std::optional<expected<int, error>> got;
  sluice::age after;
  spawn([](lent& self, std::optional<expected<int, error>>& into, sluice::age& age) -> asio::awaitable<void> {
    auto held = (co_await self.gate.admit({.tokens = 10}, batch)).value();
    into.emplace(co_await held.guard(stubborn()));
    age = held.age();
  }(*this, got, after));
  poll();
  preempt();
  poll();
  REQUIRE(got);
  CHECK(got->value() == 7);
  CHECK(after.preemptions == 0);
  CHECK(urgent.granted());
  CHECK(gate.statistics()[batch].preempted_total == 0);
}

TEST_CASE_FIXTURE(lent, "a result that says that it was cancelled counts as preempted") {
  std::optional<errc> code;
  spawn([](lent& self, std::optional<errc>& into) -> asio::awaitable<void> {
    auto held = (co_await self.gate.admit({.tokens = 10}, batch)).value();
    auto got = co_await held.guard(polite());
    REQUIRE_FALSE(got);
    CHECK(got.error().is(errc::preempted));
    CHECK(held.age().preemptions == 1);
    into = errc::preempted;
  }(*this, code));
  poll();
  preempt();
  poll();
  CHECK(code == errc::preempted);
  CHECK(urgent.granted());
  CHECK(gate.statistics()[batch].preempted_total == 1);
}

TEST_CASE_FIXTURE(lent, "the caller's cancellation reaches the work, guarded or not") {
  for (const workload as : {interactive, batch}) {
    asio::cancellation_signal stop;
    bool stopped = false;
    asio::co_spawn(
        context,
        [](lent& self, workload which, bool& told) -> asio::awaitable<void> {
          auto held = (co_await self.gate.admit({.tokens = 10}, which)).value();
          auto work = [](bool& mark) -> asio::awaitable<void> {
            try {
              co_await wait_for_ever();
            } catch (const std::system_error&) {
              mark = true;
              throw;
            }
          };
          (void)co_await held.guard(work(told));
        }(*this, as, stopped),
        asio::bind_cancellation_slot(stop.slot(), ended.handler()));
    poll();
    CHECK(gate.statistics().all.in_flight == 1);
    stop.emit(asio::cancellation_type::terminal);
    poll();
    CHECK(stopped);
    CHECK(ended.threw_aborted());
    CHECK(gate.statistics()[batch].preempted_total == 0);
    CHECK(empty(gate));
    // After its end: harmless.
    stop.emit(asio::cancellation_type::terminal);
    poll();
    ended = {};
  }
}

TEST_CASE_FIXTURE(lent, "cancelled by the caller before the guarded work has begun") {
  asio::cancellation_signal stop;
  bool began = false;
  asio::co_spawn(
      context,
      [](lent& self, asio::cancellation_signal& own, bool& mark) -> asio::awaitable<void> {
        auto held = (co_await self.gate.admit({.tokens = 10}, batch)).value();
        own.emit(asio::cancellation_type::terminal);
        auto work = [](bool& started) -> asio::awaitable<void> {
          started = true;
          co_await wait_for_ever();
        };
        (void)co_await held.guard(work(mark));
      }(*this, stop, began),
      asio::bind_cancellation_slot(stop.slot(), ended.handler()));
  poll();
  CHECK(ended.threw_aborted());
  CHECK_FALSE(began);
  CHECK(empty(gate));
}

TEST_CASE("preempted from another thread while the work runs on a pool") {
  asio::thread_pool pool(2);
  testing::manual_time_source time;
  bulkhead gate(pool.get_executor(), lent::rules(), time);
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    // Shared with those who keep them: `set_value` may still be under way when its effect is seen.
    const auto running = std::make_shared<std::promise<void>>();
    const auto ended = std::make_shared<std::promise<bool>>();
    const auto served = std::make_shared<std::promise<void>>();
    asio::co_spawn(
        pool,
        [](bulkhead& where, std::shared_ptr<std::promise<void>> on) -> asio::awaitable<bool> {
          auto held = (co_await where.admit({.tokens = 10}, batch)).value();
          on->set_value();
          auto done = co_await held.guard(wait_for_ever());
          co_return !done && done.error().is(errc::preempted);
        }(gate, running),
        [ended](std::exception_ptr, bool preempted) { ended->set_value(preempted); });
    running->get_future().wait();
    gate.async_admit({.cost = {.tokens = 10, .slots = 2}}, [served](admission_result got) {
      got->release();
      served->set_value();
    });
    // The guard may begin before, between or after: the clock goes on until it has been seen.
    auto stopped = ended->get_future();
    while (stopped.wait_for(0s) != std::future_status::ready) {
      time.advance(1s);
      std::this_thread::yield();
    }
    CHECK(stopped.get());
    served->get_future().wait();
  }
  pool.join();
  CHECK(empty(gate));
  CHECK(gate.statistics()[batch].preempted_total == rounds);
}
