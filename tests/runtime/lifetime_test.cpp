// Whoever goes first: the bulkhead, its context, the context of a waiter, a handler, a coroutine. No capacity is lost,
// and nothing that is gone is touched.
#include "runtime/house.hpp"

#include <asio/bind_executor.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <string>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

/// The parts of a program whose order of destruction is under test.
struct parts {
  testing::manual_time_source time;
  std::unique_ptr<asio::io_context> context = std::make_unique<asio::io_context>();
  std::unique_ptr<bulkhead> gate;

  explicit parts(const policy& rules = plain({.slots = 1, .tokens = 1'000}))
      : gate(std::make_unique<bulkhead>(context->get_executor(), rules, time)) {}
  ~parts() { gate.reset(); }
};

/// A handler that reports its end, invoked or not.
struct witness {
  std::shared_ptr<int> alive = std::make_shared<int>(0);
  int invoked = 0;
  auto handler() {
    return [this, token = alive](admission_result) { ++invoked; };
  }
  [[nodiscard]] bool gone() const { return alive.use_count() == 1; }
};

}  // namespace

TEST_CASE("the bulkhead goes first: who waits is told, and permits end later") {
  parts self;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  answer callback;
  answer coroutine;
  self.gate->async_admit({}, tell(callback));
  asio::co_spawn(*self.context, ask(*self.gate, coroutine, {}), [](std::exception_ptr) {});
  self.context->poll();
  self.gate.reset();
  CHECK(callback.completions == 0);
  self.context->restart();
  self.context->poll();
  CHECK(callback.why() == reason::closed);
  CHECK(coroutine.why() == reason::closed);
  held->release();
}

TEST_CASE("the bulkhead goes first, with one granted but not told") {
  parts self;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  answer got;
  self.gate->async_admit({}, tell(got));
  held->release();
  self.gate.reset();
  self.context->poll();
  REQUIRE(got.granted());
  CHECK((*got.result)->settle({.input_tokens = 1}));
}

TEST_CASE("the bulkhead goes first, and then the context with all that was on its way") {
  parts self;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  witness waits;
  witness granted;
  self.gate->async_admit({}, granted.handler());
  self.gate->async_admit({}, waits.handler());
  held->release();
  self.gate.reset();
  self.context.reset();
  CHECK(waits.gone());
  CHECK(granted.gone());
  CHECK(waits.invoked + granted.invoked == 0);
}

TEST_CASE("the context goes first: waiters and grants on their way are dropped, and their capacity is back") {
  parts self;
  witness waits;
  witness granted;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  SUBCASE("waiting") {}
  SUBCASE("granted, not told") {
    self.gate->async_admit({}, granted.handler());
    held->release();
  }
  SUBCASE("refused, not told") { self.gate->async_admit({.cost = {.tokens = -1}}, granted.handler()); }
  self.gate->async_admit({.options = {.deadline = self.gate->in(1s)}}, waits.handler());
  self.gate->async_admit({.workload = batch}, waits.handler());
  self.context.reset();
  CHECK(waits.gone());
  CHECK(granted.gone());
  CHECK(waits.invoked + granted.invoked == 0);
  held->release();
  CHECK(empty(*self.gate));
  self.time.advance(2s);
  // What needs no executor still works.
  auto again = self.gate->try_admit({});
  CHECK(again);
  answer nobody;
  CHECK_THROWS_AS(self.gate->async_admit({}, tell(nobody)), asio::execution::bad_executor);
  self.gate.reset();
}

TEST_CASE("the context goes first, with coroutines that wait, that hold, and that are about to be told") {
  parts self(plain({.slots = 2, .tokens = 1'000}));
  answer waits;
  answer told;
  const auto hold = [](bulkhead& gate) -> asio::awaitable<void> {
    auto permit = co_await gate.admit({});
    co_await wait_for_ever();
  };
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  asio::co_spawn(*self.context, hold(*self.gate), [](std::exception_ptr) {});
  asio::co_spawn(*self.context, ask(*self.gate, told, {}), [](std::exception_ptr) {});
  asio::co_spawn(asio::make_strand(*self.context), ask(*self.gate, waits, {}), [](std::exception_ptr) {});
  self.context->poll();
  held->release();
  self.context.reset();
  CHECK(told.completions + waits.completions == 0);
  CHECK(empty(*self.gate));
}

TEST_CASE("waiters on strands of the gate's own context go with it") {
  parts self;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  witness first;
  witness second;
  auto strand = std::make_unique<asio::strand<asio::io_context::executor_type>>(asio::make_strand(*self.context));
  self.gate->async_admit({}, asio::bind_executor(*strand, first.handler()));
  self.gate->async_admit({}, asio::bind_executor(*strand, second.handler()));
  strand.reset();
  SUBCASE("waiting") {}
  SUBCASE("granted, not told") { held->release(); }
  self.context.reset();
  CHECK(first.gone());
  CHECK(second.gone());
  held->release();
  CHECK(empty(*self.gate));
}

TEST_CASE("the context of a waiter goes, that of the gate stays") {
  parts self;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  witness abroad;
  answer home;
  auto other = std::make_unique<asio::io_context>();
  self.gate->async_admit({}, asio::bind_executor(*other, abroad.handler()));
  self.gate->async_admit({}, tell(home));
  SUBCASE("waiting") {
    other.reset();
    CHECK(self.gate->statistics().all.waiting == 1);
    held->release();
  }
  SUBCASE("granted, not told") {
    held->release();
    other.reset();
  }
  CHECK(abroad.gone());
  CHECK(abroad.invoked == 0);
  self.context->poll();
  CHECK(home.granted());
  home.release();
  CHECK(empty(*self.gate));
}

TEST_CASE("a head that is dropped with its context lets in others of the same context, which are dropped as well") {
  parts self(plain({.slots = 3, .tokens = 1'000}));
  auto held = self.gate->try_admit({.tokens = 600});
  REQUIRE(held);
  witness large;
  witness small;
  witness smaller;
  answer home;
  bool own = false;
  SUBCASE("the gate's own context") { own = true; }
  SUBCASE("another") {}
  auto other = std::make_unique<asio::io_context>();
  const asio::any_io_executor where = own ? asio::any_io_executor(self.context->get_executor()) : other->get_executor();
  asio::io_context third;
  self.gate->async_admit({.cost = {.tokens = 900}}, asio::bind_executor(where, large.handler()));
  self.gate->async_admit({.cost = {.tokens = 200}}, asio::bind_executor(where, small.handler()));
  self.gate->async_admit({.cost = {.tokens = 200}}, asio::bind_executor(where, smaller.handler()));
  self.gate->async_admit({.cost = {.tokens = 100}}, asio::bind_executor(third, tell(home)));
  (own ? self.context : other).reset();
  CHECK(large.gone());
  CHECK(small.gone());
  CHECK(smaller.gone());
  CHECK(large.invoked + small.invoked + smaller.invoked == 0);
  third.poll();
  CHECK(home.granted());
  home.release();
  held->release();
  CHECK(empty(*self.gate));
}

TEST_CASE("a pool that is destroyed with a waiter in it") {
  parts self;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  witness waits;
  {
    asio::thread_pool pool(2);
    self.gate->async_admit({}, asio::bind_executor(pool, waits.handler()));
    pool.stop();
  }
  CHECK(waits.gone());
  held->release();
  CHECK(empty(*self.gate));
}

TEST_CASE("guarded work: bulkhead first, context first") {
  parts self(lending());
  const auto work = [](bulkhead& gate, int& steps) -> asio::awaitable<void> {
    auto permit = co_await gate.admit({.tokens = 10}, batch);
    ++steps;
    if (permit) (void)co_await permit->guard(wait_for_ever());
    ++steps;
  };
  int steps = 0;
  asio::co_spawn(*self.context, work(*self.gate, steps), [](std::exception_ptr) {});
  self.context->poll();
  CHECK(steps == 1);
  SUBCASE("bulkhead first") {
    self.gate.reset();
    self.context->restart();
    self.context->poll();
    self.context.reset();
  }
  SUBCASE("context first") {
    self.context.reset();
    CHECK(empty(*self.gate));
  }
  CHECK(steps == 1);
}

TEST_CASE("a permit that ends under guard, and its bulkhead with it") {
  parts self(lending());
  asio::co_spawn(
      *self.context,
      [&]() -> asio::awaitable<void> {
        auto permit = co_await self.gate->admit({.tokens = 10}, batch);
        const auto work = [](parts& all, sluice::permit& own) -> asio::awaitable<void> {
          all.gate.reset();
          CHECK(own.settle({.input_tokens = 1}));
          co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        };
        auto done = co_await permit->guard(work(self, *permit));
        CHECK(done.has_value());
      },
      [](std::exception_ptr thrown) { CHECK_FALSE(thrown); });
  self.context->run();
  CHECK(self.gate == nullptr);
}

TEST_CASE("a permit that ends under guard leaves its place to another's guard") {
  house self(lending());
  std::string trace;
  struct programs {
    house& self;
    std::string& trace;
    asio::awaitable<void> stays() {
      auto permit = co_await self.gate.admit({.tokens = 500}, batch);
      REQUIRE(permit);
      auto done = co_await permit->guard(wait_for_ever());
      trace += done ? "done " : "preempted ";
    }
    asio::awaitable<void> release_early(sluice::permit& own) {
      own.release();
      // The next to come gets the place of the request that has just ended.
      asio::co_spawn(self.context, stays(), [](std::exception_ptr thrown) { CHECK_FALSE(thrown); });
      for (int n = 0; n < 20; ++n) co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
    asio::awaitable<void> leaves() {
      auto permit = co_await self.gate.admit({.tokens = 500}, batch);
      REQUIRE(permit);
      auto done = co_await permit->guard(release_early(*permit));
      trace += done ? "done " : "preempted ";
    }
  } run{self, trace};
  const auto no_throw = [](std::exception_ptr thrown) { CHECK_FALSE(thrown); };
  asio::co_spawn(self.context, run.stays(), no_throw);
  asio::co_spawn(self.context, run.leaves(), no_throw);
  self.poll();
  CHECK(trace == "done ");
  answer urgent;
  self.gate.async_admit({.cost = {.tokens = 500}}, tell(urgent));
  self.time.advance(1s);
  self.poll();
  CHECK(urgent.granted());
  CHECK(trace == "done preempted ");
}

TEST_CASE("the caller's cancellation signal outlives the context in which guarded work ran") {
  asio::cancellation_signal stop;
  parts self(lending());
  bool done = false;
  asio::co_spawn(
      *self.context,
      [&]() -> asio::awaitable<void> {
        auto permit = co_await self.gate->admit({.tokens = 10}, batch);
        const auto work = []() -> asio::awaitable<void> { co_return; };
        auto result = co_await permit->guard(work());
        done = result.has_value();
        permit->release();
        co_await wait_for_ever();
      },
      asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {}));
  self.context->poll();
  CHECK(done);
  self.context.reset();
  CHECK(empty(*self.gate));
}

TEST_CASE_FIXTURE(house, "a handler that throws out of run() leaves the others to the next run()") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  answer first;
  answer last;
  bulkhead wide(context.get_executor(), plain({.slots = 3, .tokens = 10}), time);
  auto all = wide.try_admit({.slots = 3});
  REQUIRE(all);
  wide.async_admit({}, tell(first));
  wide.async_admit({}, [](admission_result) { throw std::string("thrown by a handler"); });
  wide.async_admit({}, tell(last));
  all->release();
  context.restart();
  CHECK_THROWS_AS(context.run(), std::string);
  CHECK(first.granted());
  CHECK(last.completions == 0);
  context.run();
  CHECK(last.granted());
  first.release();
  last.release();
  CHECK(empty(wide));
}

TEST_CASE_FIXTURE(house, "a completion that asks again, many times over") {
  struct again {
    house& self;
    int& left;
    void operator()(admission_result got) {
      REQUIRE(got);
      if (--left > 0) self.gate.async_admit({}, again{self, left});
    }
  };
  int left = 10'000;
  gate.async_admit({}, again{*this, left});
  poll();
  CHECK(left == 0);
  CHECK(empty(gate));
}

TEST_CASE("a completion that destroys the bulkhead, with others waiting and on their way") {
  parts self;
  auto held = self.gate->try_admit({});
  REQUIRE(held);
  answer second;
  answer third;
  asio::io_context other;
  answer abroad;
  std::optional<admission_result> first;
  bool home = true;
  SUBCASE("at home") {}
  SUBCASE("abroad") { home = false; }
  const asio::any_io_executor where = home ? self.context->get_executor() : other.get_executor();
  self.gate->async_admit({}, asio::bind_executor(where, [&](admission_result got) {
                           self.gate.reset();
                           first.emplace(std::move(got));
                         }));
  self.gate->async_admit({}, tell(second));
  self.gate->async_admit({}, asio::bind_executor(other, tell(abroad)));
  self.gate->async_admit({}, tell(third));
  held->release();
  for (int n = 0; n < 3; ++n) {
    self.context->restart();
    self.context->poll();
    other.restart();
    other.poll();
  }
  REQUIRE(first);
  CHECK(first->has_value());
  CHECK(second.why() == reason::closed);
  CHECK(third.why() == reason::closed);
  CHECK(abroad.why() == reason::closed);
  first.reset();
}

TEST_CASE("closing with 100,000 waiters neither recurses nor takes for ever") {
  policy rules = plain({.slots = 1, .tokens = 10});
  rules.max_waiting = 100'000;
  house self(rules);
  auto held = self.gate.try_admit({});
  REQUIRE(held);
  std::size_t closed = 0;
  for (int n = 0; n < 100'000; ++n) {
    self.gate.async_admit({}, [&](admission_result got) { closed += got.error().reason() == reason::closed; });
  }
  self.gate.close();
  self.poll();
  CHECK(closed == 100'000);
  held->release();
  CHECK(empty(self.gate));
}

TEST_CASE("a context that goes with thousands of coroutines holding and waiting on strands of it") {
// ThreadSanitizer takes minutes for more, and this is about the depth of the stack.
#if defined(__SANITIZE_THREAD__)
  constexpr int many = 1'000;
#else
  constexpr int many = 20'000;
#endif
  policy rules = plain({.slots = 100, .tokens = 100});
  rules.max_waiting = many;
  parts self(rules);
  for (int n = 0; n < many; ++n) {
    asio::co_spawn(
        asio::make_strand(*self.context),
        [](bulkhead& gate) -> asio::awaitable<void> {
          auto permit = co_await gate.admit({});
          co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
          co_await wait_for_ever();
        }(*self.gate),
        [](std::exception_ptr) {});
  }
  for (int n = 0; n < 2 * many; ++n) self.context->poll_one();
  self.context.reset();
  CHECK(empty(*self.gate));
}
