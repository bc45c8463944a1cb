// `permit::stop_by`: preemption and the closing of a run stop what runs under a permit, and its end forgets it.
#include "runtime/house.hpp"

#include <sluice/runtime/detail/gate_hold.hpp>
#include <sluice/runtime/stop_signal.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

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
  permit batch_work(run_id of = {}) { return gate.try_admit({.tokens = 10}, batch, {.run = of}).value(); }
};

/// Work under a signal: ends its permit as soon as it is told.
class obedient final : public stop_signal::listener {
 public:
  void on_stop() noexcept override {
    ++told;
    held.abandon({.input_tokens = 3});
  }
  permit held;
  int told = 0;
};

}  // namespace

TEST_CASE_FIXTURE(lent, "who could be stopped: what is preemptible, and what is in a run") {
  const run_id run = gate.open_run().value();
  CHECK(batch_work().could_be_stopped());
  CHECK_FALSE(gate.try_admit({.tokens = 10}).value().could_be_stopped());
  CHECK(gate.try_admit({.tokens = 10}, interactive, {.run = run}).value().could_be_stopped());
  CHECK_FALSE(permit().could_be_stopped());
}

TEST_CASE_FIXTURE(lent, "preempted: the signal is stopped at once, the permit counts it and ends as preempted") {
  for (const bool abandoned : {true, false}) {
    permit held = batch_work();
    const auto before = held.age();
    const auto signal = std::make_shared<stop_signal>();
    held.stop_by(signal);
    CHECK(held.age().preemptions == 0);
    preempt();
    CHECK(signal->stopped() == stop_cause::preempted);
    CHECK(held.age().preemptions == 1);
    CHECK(held.age().sequence == before.sequence);
    permit moved = std::move(held);
    CHECK(moved.age().preemptions == 1);
    const auto counted = gate.statistics()[batch].preempted_total;
    const auto wasted = gate.statistics()[batch].wasted_tokens_total;
    if (abandoned) {
      moved.abandon({.input_tokens = 4, .output_tokens = 1});
      CHECK(gate.statistics()[batch].wasted_tokens_total == wasted + 5);
    } else {
      moved.release();
    }
    CHECK(gate.statistics()[batch].preempted_total == counted + 1);
    poll();
    CHECK(urgent.granted());
    urgent.release();
    CHECK(empty(gate));
  }
}

TEST_CASE_FIXTURE(lent, "work that settles in spite of it is no preemption") {
  permit held = batch_work();
  const auto signal = std::make_shared<stop_signal>();
  held.stop_by(signal);
  preempt();
  CHECK(signal->stopped() == stop_cause::preempted);
  CHECK(held.settle({.input_tokens = 5, .output_tokens = 5}));
  CHECK(gate.statistics()[batch].preempted_total == 0);
  poll();
  CHECK(urgent.granted());
  urgent.release();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent, "a permit that ended is stopped no more, nor is the one that takes its place") {
  const auto signal = std::make_shared<stop_signal>();
  {
    permit held = batch_work();
    held.stop_by(signal);
    CHECK(signal.use_count() == 2);
    CHECK(held.settle({.input_tokens = 5, .output_tokens = 5}));
    CHECK(signal.use_count() == 1);
  }
  permit next = batch_work();
  next.stop_by(std::make_shared<stop_signal>());
  preempt();
  CHECK(next.age().preemptions == 1);
  CHECK(signal->stopped() == stop_cause::none);
}

TEST_CASE_FIXTURE(lent, "a permit that is moved into, destroyed or given another signal forgets the first") {
  const auto first = std::make_shared<stop_signal>();
  const auto second = std::make_shared<stop_signal>();
  permit held = batch_work();
  held.stop_by(first);
  held.stop_by(second);
  CHECK(first.use_count() == 1);
  held.stop_by(nullptr);
  CHECK(second.use_count() == 2);
  held = permit();
  CHECK(second.use_count() == 1);
  {
    permit other = batch_work();
    other.stop_by(first);
  }
  CHECK(first.use_count() == 1);
  held.stop_by(first);
  CHECK(first.use_count() == 1);
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent,
                  "without anybody to preempt it for, nothing is stopped; a policy without preemption stops nobody") {
  permit held = batch_work();
  const auto signal = std::make_shared<stop_signal>();
  held.stop_by(signal);
  time.advance(1h);
  CHECK(signal->stopped() == stop_cause::none);
  permit firm = gate.try_admit({.tokens = 10}).value();
  const auto unused = std::make_shared<stop_signal>();
  firm.stop_by(unused);
  held.release();
  answer second;
  gate.async_admit({.cost = {.tokens = 10, .slots = 2}}, tell(second));
  time.advance(10s);
  poll();
  CHECK(unused->stopped() == stop_cause::none);
  firm.release();
  poll();
  CHECK(second.granted());
}

TEST_CASE_FIXTURE(lent, "a run that is closed stops what it and the runs below it have under way, and nobody else") {
  const run_id run = gate.open_run().value();
  const run_id below = gate.open_run({.parent = run}).value();
  const run_id other = gate.open_run().value();
  struct piece {
    permit held;
    std::shared_ptr<stop_signal> signal = std::make_shared<stop_signal>();
  };
  policy wide = rules();
  wide.total = {.slots = 8, .tokens = 1'000};
  ++wide.revision;
  REQUIRE(gate.reconfigure(wide));
  std::vector<piece> pieces(4);
  const run_id of[] = {run, below, other, run_id()};
  for (std::size_t i = 0; i < 4; ++i) {
    pieces[i].held = gate.try_admit({.tokens = 10}, interactive, {.run = of[i]}).value();
    pieces[i].held.stop_by(pieces[i].signal);
  }
  CHECK(gate.close_run(run));
  CHECK(pieces[0].signal->stopped() == stop_cause::run_closed);
  CHECK(pieces[1].signal->stopped() == stop_cause::run_closed);
  CHECK(pieces[2].signal->stopped() == stop_cause::none);
  CHECK(pieces[3].signal->stopped() == stop_cause::none);
  CHECK(pieces[0].held.age().preemptions == 0);
  pieces[0].held.abandon({.input_tokens = 7});
  CHECK(gate.statistics()[interactive].preempted_total == 0);
  CHECK(gate.statistics()[interactive].consumed_tokens_total == 7);
  pieces.clear();
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(lent, "what was closed before is stopped at once") {
  const run_id run = gate.open_run().value();
  permit held = gate.try_admit({.tokens = 10}, interactive, {.run = run}).value();
  CHECK(gate.close_run(run));
  CHECK(held.could_be_stopped());
  const auto signal = std::make_shared<stop_signal>();
  held.stop_by(signal);
  CHECK(signal->stopped() == stop_cause::run_closed);
}

TEST_CASE_FIXTURE(lent, "preempted first, and its run closed then: it stays preempted; and the other way round") {
  for (const bool preempted_first : {true, false}) {
    const run_id run = gate.open_run().value();
    permit held = batch_work(run);
    const auto signal = std::make_shared<stop_signal>();
    held.stop_by(signal);
    if (preempted_first) preempt();
    CHECK(gate.close_run(run));
    if (!preempted_first) preempt();
    CHECK(signal->stopped() == (preempted_first ? stop_cause::preempted : stop_cause::run_closed));
    CHECK(held.age().preemptions == (preempted_first ? 1 : 0));
    held.release();
    CHECK(gate.statistics()[batch].preempted_total == 1);
    poll();
    CHECK(urgent.granted());
    urgent.release();
    CHECK(empty(gate));
  }
}

TEST_CASE_FIXTURE(lent, "a listener may end the permit from within: the waiter has its room at once") {
  const auto work = std::make_shared<obedient>();
  work->held = batch_work();
  const auto signal = std::make_shared<stop_signal>();
  signal->attach(work);
  work->held.stop_by(signal);
  preempt();
  CHECK(work->told == 1);
  CHECK(gate.statistics()[batch].preempted_total == 1);
  poll();
  CHECK(urgent.granted());
}

TEST_CASE("a run may be closed, and its work stopped, when the bulkhead and its context are gone") {
  testing::manual_time_source time;
  auto context = std::make_unique<asio::io_context>();
  auto gate = std::make_unique<bulkhead>(context->get_executor(), lent::rules(), time);
  auto hold = std::make_unique<detail::gate_hold>(*gate);
  const run_id run = gate->open_run().value();
  permit held = gate->try_admit({.tokens = 10}, interactive, {.run = run}).value();
  const auto signal = std::make_shared<stop_signal>();
  held.stop_by(signal);
  gate.reset();
  context.reset();
  CHECK(signal->stopped() == stop_cause::none);
  CHECK(hold->close_run(run));
  CHECK(signal->stopped() == stop_cause::run_closed);
  hold.reset();
  held.release();
  CHECK(signal.use_count() == 1);
}

TEST_CASE_FIXTURE(lent, "guarded work of a run that is closed is cancelled, and its caller told so") {
  for (const bool before : {false, true}) {
    const run_id run = gate.open_run().value();
    std::string said;
    spawn([](lent& self, run_id which, bool early, std::string& out) -> asio::awaitable<void> {
      const admit_options how{.run = which};
      auto held = (co_await self.gate.admit({.tokens = 10}, interactive, how)).value();
      if (early) CHECK(self.gate.close_run(which));
      auto done = co_await held.guard(wait_for_ever());
      REQUIRE_FALSE(done);
      CHECK(done.error().is(errc::cancelled));
      CHECK(held.age().preemptions == 0);
      // The caller itself is not cancelled.
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
      out = done.error().message();
    }(*this, run, before, said));
    poll();
    if (!before) {
      CHECK_FALSE(ended.ended);
      CHECK(gate.close_run(run));
      poll();
    }
    CHECK(ended.ended);
    CHECK_FALSE(ended.thrown);
    CHECK(said == "cancelled: the work's run, or one above it, was closed (cancelled, or left) meanwhile");
    CHECK(gate.statistics()[interactive].preempted_total == 0);
    CHECK(empty(gate));
    ended = {};
  }
}

TEST_CASE_FIXTURE(lent, "`run` gives what a run that was closed would have refused, and calls its work once") {
  const run_id run = gate.open_run().value();
  std::optional<rejection> why;
  int calls = 0;
  spawn([](lent& self, run_id which, std::optional<rejection>& out, int& count) -> asio::awaitable<void> {
    const auto work = [&count](permit&) -> asio::awaitable<void> {
      ++count;
      co_await wait_for_ever();
    };
    const admit_options how{.run = which};
    auto done = co_await self.gate.run({.tokens = 10}, interactive, work, how);
    REQUIRE_FALSE(done);
    out = done.error();
  }(*this, run, why, calls));
  poll();
  CHECK(gate.statistics().all.in_flight == 1);
  CHECK(gate.close_run(run));
  poll();
  REQUIRE(why);
  CHECK(why->reason() == reason::unknown_run);
  CHECK(why->details().asked.tokens == 10);
  CHECK(calls == 1);
  CHECK(empty(gate));
}

TEST_CASE("permits end while their runs are closed on another thread: each is stopped or over, never both lost") {
  asio::io_context context;
  testing::manual_time_source time;
  policy rules = plain({.slots = 64, .tokens = 1'000});
  bulkhead gate(context.get_executor(), rules, time);
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    const run_id run = gate.open_run().value();
    std::atomic<bool> begun = false;
    std::thread closer([&] {
      while (!begun) std::this_thread::yield();
      gate.close_run(run);
    });
    int refused = 0;
    for (int i = 0; i < 20; ++i) {
      auto held = gate.try_admit({.tokens = 10}, interactive, {.run = run});
      if (i == 3) begun = true;
      if (!held) {
        CHECK(held.error().reason() == reason::unknown_run);
        ++refused;
        continue;
      }
      const auto signal = std::make_shared<stop_signal>();
      held->stop_by(signal);
      if (i % 2 == 0) continue;
      // It goes on until it is stopped.
      if (i == 19) {
        while (signal->stopped() == stop_cause::none) std::this_thread::yield();
      }
    }
    closer.join();
    CHECK(refused <= 16);
    CHECK(empty(gate));
  }
}
