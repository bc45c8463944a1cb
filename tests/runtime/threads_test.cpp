// One bulkhead, several threads: every operation from everywhere, and all accounts at zero at the end. Most of what
// this could find, only ThreadSanitizer sees.
#include "runtime/house.hpp"

#include <asio/bind_executor.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <array>
#include <atomic>
#include <random>
#include <thread>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

// Sanitizers make everything ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int scale = 1;
#elif defined(__has_feature)
constexpr int scale = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 1 : 10;
#else
constexpr int scale = 10;
#endif

/// A program over two contexts of two threads each.
struct two_contexts {
  asio::io_context first;
  asio::io_context second;
  std::vector<std::thread> threads;

  void run() {
    for (auto* context : {&first, &second}) {
      for (int n = 0; n < 2; ++n) threads.emplace_back([context] { context->run(); });
    }
    for (auto& each : threads) each.join();
    threads.clear();
  }
};

policy contended() {
  policy made = plain({.slots = 3, .tokens = 900});
  made[interactive].floor = {.slots = 2, .tokens = 600};
  made[interactive].restore_within = 0ns;
  made[batch].preemptible = true;
  made.max_waiting = 40;
  return made;
}

struct worker {
  bulkhead& gate;
  testing::manual_time_source& time;
  std::atomic<std::int64_t>& granted;
  std::atomic<std::int64_t>& refused;
  std::minstd_rand random;

  int pick(int most) { return std::uniform_int_distribution(0, most)(random); }

  asio::awaitable<void> some_work(permit& held) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    (void)held.reconcile({.input_tokens = 50, .output_tokens = 1, .remaining_output = 10, .margin = 10});
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }

  void count(bool was_granted) { ++(was_granted ? granted : refused); }

  asio::awaitable<void> work(int rounds) {
    const auto run_one = [this](permit& held) { return some_work(held); };
    for (int n = 0; n < rounds; ++n) {
      const cost asked{.tokens = 50 + pick(200), .output_tokens = 40};
      const workload as = pick(1) == 0 ? interactive : batch;
      admit_options options;
      if (pick(2) == 0) options.deadline = gate.in(std::chrono::milliseconds(pick(30)));
      switch (pick(5)) {
        case 0: {
          auto got = gate.try_admit(asked, as, options);
          count(got.has_value());
          break;
        }
        case 1: {
          auto got = co_await gate.run(asked, as, run_one, options);
          count(got.has_value());
          break;
        }
        case 2: {
          auto got = co_await gate.admit(asked, as, options);
          count(got.has_value());
          if (got) (void)got->settle({.input_tokens = 10, .output_tokens = 10});
          break;
        }
        case 3: {
          auto got = co_await gate.admit(asked, as, options);
          count(got.has_value());
          if (!got) break;
          auto guarded = some_work(*got);
          (void)co_await got->guard(std::move(guarded));
          break;
        }
        case 4: time.advance(1ms); break;
        default: {
          (void)gate.statistics();
          policy next = gate.current_policy();
          next.total = {.slots = 2 + pick(2), .tokens = 600 + pick(600)};
          ++next.revision;
          (void)gate.reconfigure(next);
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("four threads on two contexts: admit, run, guard, refuse, expire, reconfigure, and at last close and drain") {
  testing::manual_time_source time;
  two_contexts both;
  bulkhead gate(both.first.get_executor(), contended(), time);
  std::atomic<std::int64_t> granted = 0;
  std::atomic<std::int64_t> refused = 0;
  std::atomic<int> left = 16;
  std::vector<std::unique_ptr<worker>> workers;
  std::optional<drain_result> drained;
  // The last one drains on the second context, whose own workers may have ended before.
  auto alive = asio::make_work_guard(both.second);
  for (unsigned n = 0; n < 16; ++n) {
    workers.push_back(std::make_unique<worker>(worker{gate, time, granted, refused, std::minstd_rand(n + 1)}));
    auto& context = n % 2 == 0 ? both.first : both.second;
    asio::co_spawn(asio::make_strand(context), workers.back()->work(300 * scale), [&](std::exception_ptr thrown) {
      if (thrown) std::terminate();
      if (--left > 0) return;
      gate.close();
      asio::co_spawn(both.second, gate.drain(1h), [&](std::exception_ptr, drain_result got) {
        drained = got;
        alive.reset();
      });
    });
  }
  both.run();
  REQUIRE(drained);
  CHECK(drained->drained);
  CHECK(empty(gate));
  CHECK(granted > 0);
  CHECK(refused > 0);
  const class_statistics all = gate.statistics().all;
  CHECK(all.reserved_tokens_total == all.consumed_tokens_total + all.refunded_tokens_total - all.overrun_tokens_total);
}

TEST_CASE("a grant on one thread races with a cancellation on another") {
  testing::manual_time_source time;
  asio::thread_pool pool(2);
  bulkhead gate(pool.get_executor(), plain({.slots = 1, .tokens = 10}), time);
  const int rounds = 10'000 * scale;
  std::int64_t granted = 0;
  std::int64_t cancelled = 0;
  for (int n = 0; n < rounds; ++n) {
    auto held = gate.try_admit({});
    REQUIRE(held);
    auto strand = asio::make_strand(pool);
    asio::cancellation_signal stop;
    std::atomic<int> done = 0;
    std::atomic<bool> asked = false;
    asio::post(strand, [&] {
      gate.async_admit({},
                       asio::bind_executor(strand, asio::bind_cancellation_slot(stop.slot(), [&](admission_result got) {
                                             ++(got ? granted : cancelled);
                                             if (!got && got.error().reason() != reason::cancelled) std::terminate();
                                             if (got) got->release();
                                             ++done;
                                             done.notify_all();
                                           })));
      asked = true;
      asked.notify_all();
    });
    asked.wait(false);
    asio::post(strand, [&] {
      stop.emit(asio::cancellation_type::total);
      ++done;
      done.notify_all();
    });
    held->release();
    for (int seen = done; seen != 2; seen = done) done.wait(seen);
    // Handlers that have notified may still be on their way out of the strand; the signal must not go before.
    std::atomic<bool> out = false;
    asio::post(strand, [&] {
      out = true;
      out.notify_all();
    });
    out.wait(false);
  }
  pool.join();
  CHECK(granted + cancelled == rounds);
  CHECK(empty(gate));
  CHECK(gate.statistics().all.in_flight == 0);
}

TEST_CASE("closing while others ask") {
  for (int round = 0; round < 30 * scale; ++round) {
    testing::manual_time_source time;
    asio::thread_pool pool(3);
    bulkhead gate(pool.get_executor(), plain({.slots = 2, .tokens = 100}), time);
    std::atomic<int> answered = 0;
    for (int n = 0; n < 20; ++n) {
      asio::post(pool, [&, n] {
        gate.async_admit({.cost = {.tokens = 10}}, [&](admission_result) { ++answered; });
        if (n == 10) gate.close();
      });
    }
    pool.join();
    CHECK(answered == 20);
    CHECK(empty(gate));
    CHECK_FALSE(gate.try_admit({}));
  }
}

TEST_CASE("the context of some waiters goes while another thread lets them in") {
  for (int round = 0; round < 200 * scale; ++round) {
    testing::manual_time_source time;
    asio::io_context home;
    auto other = std::make_unique<asio::io_context>();
    const bool own = round % 2 == 0;
    // Of both roles: the context that goes is the gate's own, or that of others.
    bulkhead gate(own ? other->get_executor() : home.get_executor(), plain({.slots = 4, .tokens = 100}), time);
    auto held = gate.try_admit({.slots = 4});
    REQUIRE(held);
    std::atomic<int> told = 0;
    for (int n = 0; n < 4; ++n) {
      gate.async_admit({}, asio::bind_executor(*other, [&](admission_result) { ++told; }));
      gate.async_admit({}, asio::bind_executor(asio::make_strand(*other), [&](admission_result) { ++told; }));
      gate.async_admit({}, asio::bind_executor(home, [&](admission_result) { ++told; }));
    }
    std::atomic<bool> go = false;
    std::thread destroyer([&] {
      go.wait(false);
      other.reset();
    });
    go = true;
    go.notify_all();
    held->release();
    destroyer.join();
    home.run();
    CHECK(told == 4);
    CHECK(empty(gate));
  }
}

TEST_CASE("the last permit ends on one thread while a context that was used goes on another") {
  for (int round = 0; round < 200 * scale; ++round) {
    testing::manual_time_source time;
    asio::io_context home;
    auto other = std::make_unique<asio::io_context>();
    auto gate = std::make_unique<bulkhead>(home.get_executor(), plain({.slots = 1, .tokens = 100}), time);
    auto held = gate->try_admit({});
    REQUIRE(held);
    answer waits;
    gate->async_admit({}, asio::bind_executor(*other, tell(waits)));
    held->release();
    other->run();
    REQUIRE(waits.granted());
    gate.reset();
    std::atomic<bool> go = false;
    std::thread destroyer([&] {
      go.wait(false);
      other.reset();
    });
    go = true;
    go.notify_all();
    waits.release();
    destroyer.join();
  }
}

TEST_CASE("guarded work of a context that goes while another thread would preempt it") {
  for (int round = 0; round < 200 * scale; ++round) {
    testing::manual_time_source time;
    asio::io_context home;
    auto other = std::make_unique<asio::io_context>();
    policy rules = contended();
    rules[interactive].floor = {.slots = 3, .tokens = 900};
    bulkhead gate(home.get_executor(), rules, time);
    for (int n = 0; n < 3; ++n) {
      asio::co_spawn(
          *other,
          [](bulkhead& where) -> asio::awaitable<void> {
            auto got = (co_await where.admit({.tokens = 10}, batch)).value();
            (void)co_await got.guard(wait_for_ever());
          }(gate),
          [](std::exception_ptr) {});
    }
    other->poll();
    std::atomic<bool> go = false;
    std::thread destroyer([&] {
      go.wait(false);
      other.reset();
    });
    go = true;
    go.notify_all();
    answer urgent;
    gate.async_admit({.cost = {.tokens = 10, .slots = 3}}, tell(urgent));
    destroyer.join();
    home.run();
    CHECK(urgent.granted());
    urgent.release();
    CHECK(empty(gate));
  }
}

TEST_CASE("a drain is cancelled on its strand while the gate becomes idle on another thread") {
  for (int round = 0; round < 300 * scale; ++round) {
    testing::manual_time_source time;
    asio::thread_pool pool(2);
    bulkhead gate(pool.get_executor(), plain({.slots = 1, .tokens = 100}), time);
    auto held = gate.try_admit({});
    REQUIRE(held);
    auto strand = asio::make_strand(pool);
    asio::cancellation_signal stop;
    std::atomic<bool> ended = false;
    asio::co_spawn(strand, gate.drain(1h),
                   asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr, drain_result) { ended = true; }));
    asio::post(strand, [&] { stop.emit(asio::cancellation_type::terminal); });
    held->release();
    pool.join();
    CHECK(ended);
    CHECK(time.armed() == 0);
    CHECK(empty(gate));
  }
}

TEST_CASE("guarded work is cancelled by its caller on a strand while it starts on another thread") {
  for (int round = 0; round < 300 * scale; ++round) {
    testing::manual_time_source time;
    asio::thread_pool pool(2);
    policy rules = contended();
    bulkhead gate(pool.get_executor(), rules, time);
    auto strand = asio::make_strand(pool);
    asio::cancellation_signal stop;
    asio::co_spawn(
        strand,
        [](bulkhead& where) -> asio::awaitable<void> {
          auto got = (co_await where.admit({.tokens = 10}, batch)).value();
          (void)co_await got.guard(wait_for_ever());
        }(gate),
        asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {}));
    asio::post(strand, [&] { stop.emit(asio::cancellation_type::terminal); });
    pool.join();
    CHECK(empty(gate));
  }
}
