#include <sluice/runtime/time_source.hpp>

#include <doctest/doctest.h>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

class ringer final : public time_source::entry {
 public:
  ringer() = default;
  explicit ringer(std::function<void(ringer&)> what) : then(std::move(what)) {}

  void due(instant now) noexcept override {
    rung_at = now;
    ++rings;
    if (then) then(*this);
  }

  std::function<void(ringer&)> then;
  instant rung_at{};
  std::atomic<int> rings{0};
};

}  // namespace

TEST_CASE("now is the steady clock, and recent is never ahead of it") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  for (int i = 0; i < 1000; ++i) {
    const auto before = std::chrono::steady_clock::now();
    const instant recent = time->recent();
    const instant now = time->now();
    const auto after_it = std::chrono::steady_clock::now();
    CHECK(before <= now);
    CHECK(now <= after_it);
    CHECK(recent <= now);
    CHECK(now - recent < 1h);
  }
}

TEST_CASE("entries ring in the order of their instants, never early, and once") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  const instant start = time->now();
  std::vector<int> order;
  ringer third([&](ringer&) { order.push_back(3); });
  ringer first([&](ringer&) { order.push_back(1); });
  ringer second([&](ringer&) { order.push_back(2); });
  time->arm(third, start + 6ms);
  time->arm(first, start + 2ms);
  time->arm(second, start + 4ms);
  loop.run();
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK(first.rung_at >= start + 2ms);
  CHECK(third.rung_at >= start + 6ms);
  CHECK(first.rings == 1);
}

TEST_CASE("an instant that has passed rings later than arm, from the loop") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  ringer one([&](ringer&) { CHECK(loop.get_executor().running_in_this_thread()); });
  time->arm(one, instant{});
  CHECK(one.rings == 0);
  loop.run();
  CHECK(one.rings == 1);
}

TEST_CASE("an entry that is armed again is moved") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  ringer later;
  time->arm(later, time->now() + 1h);
  time->arm(later, time->now());
  loop.run();
  CHECK(later.rings == 1);

  loop.restart();
  const instant moved = time->now() + 5ms;
  time->arm(later, time->now());
  time->arm(later, moved);
  loop.run();
  CHECK(later.rings == 2);
  CHECK(later.rung_at >= moved);
}

TEST_CASE("a disarmed entry does not ring, and does not keep the loop running") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  ringer one;
  ringer two;
  time->disarm(one);
  time->arm(one, time->now() + 1h);
  time->arm(two, time->now() + 2h);
  time->disarm(one);
  time->disarm(two);
  loop.run();
  CHECK(one.rings == 0);
  CHECK(two.rings == 0);
}

TEST_CASE("never is never, and counts as no work") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  ringer one;
  time->arm(one, never);
  loop.run();
  CHECK(one.rings == 0);
  time->disarm(one);
}

TEST_CASE("an entry may arm itself from within, and one that always does so does not hold the loop") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  bool stop = false;
  ringer again([&](ringer& self) {
    if (!stop) time->arm(self, instant{});
  });
  time->arm(again, instant{});
  while (again.rings < 3) loop.run_one();
  bool reached = false;
  asio::post(loop, [&] { reached = stop = true; });
  loop.run();
  CHECK(reached);
  CHECK(again.rings >= 3);
}

TEST_CASE("an entry may disarm itself and others from within") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  ringer victim;
  ringer killer([&](ringer& self) {
    time->disarm(victim);
    time->disarm(self);
  });
  const instant now = time->now();
  time->arm(killer, now - 2ms);
  time->arm(victim, now - 1ms);
  loop.run();
  CHECK(killer.rings == 1);
  CHECK(victim.rings == 0);
}

TEST_CASE("an entry may be destroyed by its own ring") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  auto one = std::make_unique<ringer>();
  one->then = [&](ringer& self) {
    auto keep = std::move(self.then);
    one.reset();
  };
  time->arm(*one, instant{});
  loop.run();
  CHECK(one == nullptr);
}

TEST_CASE("the time source may be destroyed with entries armed, before and after its loop, and from a ring") {
  ringer one;
  {
    asio::io_context loop;
    auto time = make_steady_time_source(loop.get_executor());
    time->arm(one, instant{});
    time.reset();
    loop.run();
  }
  {
    auto loop = std::make_unique<asio::io_context>();
    const auto time = make_steady_time_source(loop->get_executor());
    time->arm(one, instant{});
    loop.reset();
    time->arm(one, instant{});
    time->disarm(one);
  }
  CHECK(one.rings == 0);
  {
    asio::io_context loop;
    auto time = make_steady_time_source(loop.get_executor());
    ringer last([&](ringer&) { time.reset(); });
    time->arm(last, instant{});
    time->arm(one, time->now() + 1h);
    loop.run();
    CHECK(last.rings == 1);
  }
  CHECK(one.rings == 0);
}

TEST_CASE("disarm waits for the ring that another thread is in") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  auto guard = asio::make_work_guard(loop);
  std::thread runner([&] { loop.run(); });
  for (int round = 0; round < 300; ++round) {
    std::atomic<bool> inside{false};
    std::atomic<bool> left{false};
    ringer one([&](ringer&) {
      inside = true;
      for (int i = 0; i < 50; ++i) std::this_thread::yield();
      left = true;
    });
    time->arm(one, instant{});
    while (!inside) std::this_thread::yield();
    time->disarm(one);
    REQUIRE(left);
    REQUIRE(one.rings == 1);
  }
  guard.reset();
  runner.join();
}

TEST_CASE("four threads arm, move and disarm; what was not disarmed rings once") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  auto guard = asio::make_work_guard(loop);
  std::vector<std::thread> runners;
  for (int i = 0; i < 2; ++i) runners.emplace_back([&] { loop.run(); });
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::vector<std::unique_ptr<ringer>> all;
        const instant now = time->now();
        for (int i = 0; i < 20; ++i) {
          all.push_back(std::make_unique<ringer>());
          time->arm(*all.back(), i % 2 == 0 ? now : now + 1h);
        }
        for (std::size_t i = 0; i < all.size(); i += 4) time->arm(*all[i], now + std::chrono::microseconds(i));
        for (std::size_t i = 1; i < all.size(); i += 2) time->disarm(*all[i]);
        for (std::size_t i = 0; i < all.size(); ++i) {
          while (i % 2 == 0 && all[i]->rings == 0) std::this_thread::yield();
          // A moved entry may have rung at its first instant too.
          const int most = i % 4 == 0 ? 2 : 1;
          if (all[i]->rings > (i % 2 == 0 ? most : 0)) ++wrong;
          time->disarm(*all[i]);
        }
      }
    });
  }
  for (auto& one : users) one.join();
  guard.reset();
  for (auto& one : runners) one.join();
  CHECK(wrong == 0);
}

TEST_CASE("ten thousand entries ring in order") {
  asio::io_context loop;
  const auto time = make_steady_time_source(loop.get_executor());
  std::vector<std::unique_ptr<ringer>> all;
  std::vector<int> order;
  const instant start = time->now() - 1s;
  for (int i = 0; i < 10'000; ++i) {
    const int rank = i * 7919 % 10'000;
    all.push_back(std::make_unique<ringer>([&order, rank](ringer&) { order.push_back(rank); }));
    time->arm(*all.back(), start + std::chrono::microseconds(rank));
  }
  for (std::size_t i = 0; i < all.size(); i += 3) time->disarm(*all[i]);
  loop.run();
  CHECK(order.size() == 6'666);
  CHECK(std::is_sorted(order.begin(), order.end()));
}
