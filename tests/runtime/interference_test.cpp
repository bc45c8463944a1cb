// One small program with everything in it, and at each of its steps in turn one thing that interferes: whatever comes
// when, nothing that is gone is touched, and what remains ends with all accounts at zero.
#include "runtime/house.hpp"

#include <asio/bind_executor.hpp>
#include <asio/strand.hpp>

#include <array>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

class program {
 public:
  enum class event { none, destroy_gate, destroy_home, destroy_other, close, shrink, grow, tick, cancel };
  static constexpr std::array events{event::none,          event::destroy_gate, event::destroy_home,
                                     event::destroy_other, event::close,        event::shrink,
                                     event::grow,          event::tick,         event::cancel};
  static constexpr std::size_t coroutines = 7;

  program() {
    policy rules = lending();
    rules[interactive].floor = {.slots = 2, .tokens = 1'000};
    gate_ = std::make_unique<bulkhead>(home_->get_executor(), rules, time_);
    std::size_t number = 0;
    const auto start = [&](const asio::any_io_executor& where, asio::awaitable<void> what) {
      asio::co_spawn(
          where, std::move(what),
          asio::bind_cancellation_slot(stops_.at(number++).slot(), [this](std::exception_ptr) { ++ended_; }));
    };
    start(home_->get_executor(), repeat());
    start(home_->get_executor(), repeat());
    start(asio::make_strand(*home_), hold(interactive));
    start(other_->get_executor(), hold(batch));
    start(asio::make_strand(*other_), hold(interactive));
    start(home_->get_executor(), leave());
    start(other_->get_executor(), repeat());
    gate_->async_admit({.cost = {.tokens = 300}, .options = {.deadline = gate_->in(3s)}},
                       asio::bind_executor(*other_, [this](admission_result got) { kept_.push_back(std::move(got)); }));
    gate_->async_admit({.cost = {.tokens = 300}, .workload = batch},
                       [this](admission_result got) { kept_.push_back(std::move(got)); });
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() {
    if (gate_last_) {
      home_.reset();
      other_.reset();
      if (gate_) CHECK(empty_but_kept());
    }
    gate_.reset();
    other_.reset();
    home_.reset();
  }

  /// One step: one handler of each context; when there is nothing to do, the time goes on.
  bool step() {
    std::size_t ran = 0;
    for (auto* context : {home_.get(), other_.get()}) {
      if (context == nullptr) continue;
      context->restart();
      ran += context->poll_one();
    }
    if (ran != 0) return true;
    kept_.clear();
    if (++ticks_ > 12) return false;
    time_.advance(500ms);
    return true;
  }

  void interfere(event what, std::size_t which) {
    switch (what) {
      case event::none: break;
      case event::destroy_gate: gate_.reset(); break;
      case event::destroy_home: home_.reset(); break;
      case event::destroy_other: other_.reset(); break;
      case event::close:
        if (gate_) gate_->close();
        break;
      case event::shrink: resize({.slots = 1, .tokens = 350}); break;
      case event::grow: resize({.slots = 4, .tokens = 4'000}); break;
      case event::tick: time_.advance(1s); break;
      case event::cancel: cancel(which); break;
    }
  }

  void end_with_gate_last() { gate_last_ = true; }

  /// After the last step: everything that could end has ended.
  void check_end() {
    if (!gate_) return;
    kept_.clear();
    gate_->close();
    for (std::size_t n = 0; n < coroutines; ++n) cancel(n);
    for (int n = 0; n < 200; ++n) step();
    if (home_ && other_) CHECK(ended_ == coroutines);
    CHECK(empty(*gate_));
  }

 private:
  // A signal is emitted where its coroutine runs; that is here.
  void cancel(std::size_t which) {
    const bool at_home = which == 0 || which == 1 || which == 2 || which == 5;
    if ((at_home ? home_ : other_) == nullptr) return;
    stops_.at(which).emit(asio::cancellation_type::terminal);
  }

  void resize(capacity total) {
    if (!gate_) return;
    policy next = gate_->current_policy();
    next.total = total;
    next.classes[0].floor = {.slots = 1, .tokens = 300};
    next.revision = ++revision_;
    CHECK(gate_->reconfigure(next));
  }

  [[nodiscard]] bool empty_but_kept() const {
    return gate_->statistics().all.in_flight <= static_cast<std::int64_t>(kept_.size()) &&
           gate_->statistics().all.waiting == 0;
  }

  static asio::awaitable<void> some_posts(int count) {
    for (int n = 0; n < count; ++n) co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }

  asio::awaitable<void> hold(workload as) {
    for (int n = 0; n < 2; ++n) {
      if (!gate_) co_return;
      auto got = co_await gate_->admit({.tokens = 300}, as, {.deadline = gate_->in(2s)});
      if (!got) continue;
      auto work = some_posts(3);
      (void)co_await got->guard(std::move(work));
      (void)got->reconcile({.input_tokens = 100, .output_tokens = 1, .remaining_output = 50});
      co_await some_posts(1);
    }
  }

  asio::awaitable<void> repeat() {
    if (!gate_) co_return;
    int attempts = 0;
    const auto work = [&](permit& held) -> asio::awaitable<void> {
      if (++attempts == 1) return wait_for_ever();
      return settle_in_work(held);
    };
    (void)co_await gate_->run({.tokens = 300}, batch, work);
  }

  static asio::awaitable<void> settle_in_work(permit& held) {
    co_await some_posts(2);
    (void)held.settle({.input_tokens = 10});
    co_await some_posts(2);
  }

  asio::awaitable<void> leave() {
    co_await some_posts(4);
    if (!gate_) co_return;
    (void)co_await gate_->drain(4s);
    if (!gate_) co_return;
    (void)co_await gate_->drain(duration::max());
  }

  std::array<asio::cancellation_signal, coroutines> stops_;
  testing::manual_time_source time_;
  std::unique_ptr<asio::io_context> home_ = std::make_unique<asio::io_context>();
  std::unique_ptr<asio::io_context> other_ = std::make_unique<asio::io_context>();
  std::unique_ptr<bulkhead> gate_;
  std::vector<admission_result> kept_;
  std::size_t ended_ = 0;
  std::uint64_t revision_ = 1;
  int ticks_ = 0;
  bool gate_last_ = false;
};

int steps_undisturbed() {
  program run;
  int steps = 0;
  while (run.step()) ++steps;
  run.check_end();
  return steps;
}

}  // namespace

TEST_CASE("undisturbed, it ends") {
  const int steps = steps_undisturbed();
  CHECK(steps > 20);
  CHECK(steps < 400);
}

TEST_CASE("one event at each step, and then the end") {
  const int steps = steps_undisturbed();
  for (const auto event : program::events) {
    const std::size_t variants = event == program::event::cancel ? program::coroutines : 1;
    for (std::size_t which = 0; which < variants; ++which) {
      for (int at = 0; at <= steps; ++at) {
        CAPTURE(static_cast<int>(event));
        CAPTURE(which);
        CAPTURE(at);
        program run;
        for (int n = 0; n < at && run.step(); ++n) {
        }
        run.interfere(event, which);
        while (run.step()) {
        }
        run.check_end();
      }
    }
  }
}

TEST_CASE("two events at each step, and destruction on the spot in both orders") {
  const int steps = steps_undisturbed();
  for (const auto first : program::events) {
    for (const auto second : program::events) {
      for (int at = 0; at <= steps; ++at) {
        CAPTURE(static_cast<int>(first));
        CAPTURE(static_cast<int>(second));
        CAPTURE(at);
        program run;
        if (at % 2 == 0) run.end_with_gate_last();
        for (int n = 0; n < at && run.step(); ++n) {
        }
        run.interfere(first, static_cast<std::size_t>(at) % program::coroutines);
        run.interfere(second, static_cast<std::size_t>(at / 2) % program::coroutines);
        if (at % 3 == 0) run.step();
      }
    }
  }
}
