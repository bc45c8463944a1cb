// `stop_signal`: the first cause holds, each listener is told once, and none of it depends on who goes first.
#include <sluice/runtime/stop_signal.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using sluice::stop_cause;
using sluice::stop_signal;

namespace {

class counting_listener : public stop_signal::listener {
 public:
  virtual ~counting_listener() = default;
  void on_stop() noexcept override { ++told; }
  std::atomic<int> told = 0;
};

}  // namespace

TEST_CASE("the first cause holds, and who listens is told once") {
  stop_signal signal;
  const auto first = std::make_shared<counting_listener>();
  const auto second = std::make_shared<counting_listener>();
  signal.attach(first);
  signal.attach(second);
  CHECK(signal.stopped() == stop_cause::none);
  signal.stop(stop_cause::none);
  CHECK(signal.stopped() == stop_cause::none);
  CHECK(first->told == 0);
  signal.stop(stop_cause::run_closed);
  CHECK(signal.stopped() == stop_cause::run_closed);
  signal.stop(stop_cause::preempted);
  CHECK(signal.stopped() == stop_cause::run_closed);
  CHECK(first->told == 1);
  CHECK(second->told == 1);
}

TEST_CASE("whoever comes too late is told at once") {
  stop_signal signal;
  signal.stop(stop_cause::preempted);
  const auto late = std::make_shared<counting_listener>();
  signal.attach(late);
  CHECK(late->told == 1);
  signal.attach(std::weak_ptr<stop_signal::listener>());
  signal.detach(*late);
  signal.stop(stop_cause::preempted);
  CHECK(late->told == 1);
}

TEST_CASE("whoever was detached, or is gone, is not told") {
  stop_signal signal;
  const auto left = std::make_shared<counting_listener>();
  const auto stays = std::make_shared<counting_listener>();
  auto gone = std::make_shared<counting_listener>();
  signal.attach(left);
  signal.attach(gone);
  signal.attach(stays);
  signal.detach(*left);
  signal.detach(*left);
  gone.reset();
  signal.stop(stop_cause::preempted);
  CHECK(left->told == 0);
  CHECK(stays->told == 1);
}

TEST_CASE("the signal may go first") {
  const auto stays = std::make_shared<counting_listener>();
  {
    const auto signal = std::make_shared<stop_signal>();
    signal->attach(stays);
  }
  CHECK(stays->told == 0);
  CHECK(stays.use_count() == 1);
}

TEST_CASE("a listener may use the signal, and may be destroyed by what it does") {
  class owner final : public counting_listener {
   public:
    owner(std::shared_ptr<owner>& own, stop_signal& signal, bool& gone) : own_(own), signal_(signal), gone_(gone) {}
    ~owner() override { gone_ = true; }
    void on_stop() noexcept override {
      CHECK(signal_.stopped() == stop_cause::preempted);
      signal_.stop(stop_cause::run_closed);
      signal_.detach(*this);
      own_.reset();
      CHECK_FALSE(gone_);
    }

   private:
    std::shared_ptr<owner>& own_;
    stop_signal& signal_;
    bool& gone_;
  };
  stop_signal signal;
  bool gone = false;
  std::shared_ptr<owner> own;
  own = std::make_shared<owner>(own, signal, gone);
  const auto last = std::make_shared<counting_listener>();
  signal.attach(own);
  signal.attach(last);
  signal.stop(stop_cause::preempted);
  CHECK(gone);
  CHECK(last->told == 1);
}

TEST_CASE("attached, detached and stopped on several threads: never told twice, and told unless it left") {
  constexpr int rounds = 500;
  for (int round = 0; round < rounds; ++round) {
    const auto signal = std::make_shared<stop_signal>();
    const auto stays = std::make_shared<counting_listener>();
    const auto comes = std::make_shared<counting_listener>();
    auto goes = std::make_shared<counting_listener>();
    signal->attach(stays);
    signal->attach(goes);
    std::atomic<int> ready = 0;
    const auto together = [&](auto what) {
      return [&, what] {
        ++ready;
        while (ready < 4) std::this_thread::yield();
        what();
      };
    };
    std::vector<std::thread> threads;
    threads.emplace_back(together([&] { signal->stop(stop_cause::preempted); }));
    threads.emplace_back(together([&] { signal->stop(stop_cause::run_closed); }));
    threads.emplace_back(together([&] { signal->attach(comes); }));
    threads.emplace_back(together([&] {
      if (round % 2 == 0) signal->detach(*goes);
      goes.reset();
    }));
    for (auto& each : threads) each.join();
    CHECK(signal->stopped() != stop_cause::none);
    CHECK(stays->told == 1);
    CHECK(comes->told == 1);
  }
}
