#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using sluice::instant;
using sluice::testing::manual_time_source;

namespace {

class probe final : public sluice::time_source::entry {
 public:
  explicit probe(std::function<void(instant)> then) : then_(std::move(then)) {}
  void due(instant now) noexcept override { then_(now); }

 private:
  std::function<void(instant)> then_;
};

}  // namespace

TEST_CASE("it stands still until it is advanced") {
  manual_time_source time;
  const auto start = time.now();
  CHECK(start == instant{} + 1h);
  CHECK(time.recent() == start);
  time.advance(5s);
  CHECK(time.now() == start + 5s);
  time.advance(-3s);
  CHECK(time.now() == start + 5s);
  time.advance_to(start);
  CHECK(time.now() == start + 5s);
  time.advance_to(start + 6s);
  CHECK(time.now() == start + 6s);
  CHECK(manual_time_source(instant{} + 7s).now() == instant{} + 7s);
}

TEST_CASE("entries fire in order of their instants, ties in order of arming, with now() at theirs") {
  manual_time_source time;
  const auto start = time.now();
  std::string order;
  std::vector<instant> seen;
  const auto note = [&](char name) {
    return [&, name](instant at) {
      order += name;
      seen.push_back(at);
      CHECK(time.now() == at);
    };
  };
  probe a(note('a')), b(note('b')), c(note('c')), d(note('d'));
  time.arm(a, start + 3s);
  time.arm(b, start + 1s);
  time.arm(c, start + 3s);
  time.arm(d, start + 9s);
  CHECK(time.armed() == 4);
  CHECK(time.next() == start + 1s);
  time.advance(3s);
  CHECK(order == "bac");
  CHECK(seen == std::vector{start + 1s, start + 3s, start + 3s});
  CHECK(time.armed() == 1);
  CHECK(time.next() == start + 9s);
  time.disarm(d);
  CHECK(time.next() == sluice::never);
  time.advance(1h);
  CHECK(order == "bac");
}

TEST_CASE("arming again moves the entry, and puts it behind its equals") {
  manual_time_source time;
  const auto start = time.now();
  std::string order;
  probe a([&](instant) { order += 'a'; });
  probe b([&](instant) { order += 'b'; });
  time.arm(a, start + 1s);
  time.arm(b, start + 2s);
  time.arm(a, start + 2s);
  CHECK(time.armed() == 2);
  time.advance(1s);
  CHECK(order.empty());
  time.advance(1s);
  CHECK(order == "ba");
}

TEST_CASE("an instant in the past fires in the next advance, and the time does not run backwards") {
  manual_time_source time;
  const auto start = time.now();
  instant seen;
  int fired = 0;
  probe a([&](instant at) {
    seen = at;
    ++fired;
  });
  time.arm(a, instant{});
  CHECK(fired == 0);
  time.advance(0s);
  CHECK(fired == 1);
  CHECK(seen == start);
  CHECK(time.now() == start);
}

TEST_CASE("what is armed during an advance fires in it when it is due") {
  manual_time_source time;
  const auto start = time.now();
  std::vector<instant> seen;
  probe* self = nullptr;
  probe periodic([&](instant at) {
    seen.push_back(at);
    time.arm(*self, at + 2s);
  });
  self = &periodic;
  time.arm(periodic, start + 1s);
  time.advance(6s);
  CHECK(seen == std::vector{start + 1s, start + 3s, start + 5s});
  CHECK(time.next() == start + 7s);
  CHECK(time.now() == start + 6s);
  time.disarm(periodic);
}

TEST_CASE("an entry may disarm others and itself, and an advance from within stretches the one that runs") {
  manual_time_source time;
  const auto start = time.now();
  std::string order;
  probe* a_itself = nullptr;
  probe b([&](instant) { order += 'b'; });
  probe c([&](instant at) {
    order += 'c';
    CHECK(at == start + 5s);
  });
  probe a([&](instant) {
    order += 'a';
    time.disarm(*a_itself);
    time.disarm(b);
    time.advance(4s);
    CHECK(time.now() == start + 1s);
  });
  a_itself = &a;
  time.arm(a, start + 1s);
  time.arm(b, start + 1s);
  time.arm(c, start + 5s);
  time.advance(1s);
  CHECK(order == "ac");
  CHECK(time.now() == start + 5s);
}

TEST_CASE("disarm waits for a due that another thread is running, and holds against its arming itself again") {
  manual_time_source time;
  const auto start = time.now();
  std::promise<void> entered;
  std::promise<void> let_go;
  auto released = let_go.get_future().share();
  std::atomic<bool> left = false;
  int fired = 0;
  probe* self = nullptr;
  probe slow([&](instant at) {
    ++fired;
    entered.set_value();
    released.wait();
    time.arm(*self, at + 1s);
    left = true;
  });
  self = &slow;
  time.arm(slow, start + 1s);
  std::thread driver([&] { time.advance(1s); });
  entered.get_future().wait();
  std::thread releaser([&] { let_go.set_value(); });
  time.disarm(slow);
  CHECK(left);
  driver.join();
  releaser.join();
  CHECK(time.armed() == 0);
  time.advance(5s);
  CHECK(fired == 1);
}

TEST_CASE("arming, disarming and advancing from several threads") {
  manual_time_source time;
  std::atomic<int> fired = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        probe kept([&](instant) { ++fired; });
        probe dropped([&](instant) { FAIL("was disarmed before its time"); });
        const auto now = time.now();
        time.arm(dropped, now + 24h * 365);
        time.arm(kept, now + 1ms);
        time.advance(1ms);
        time.disarm(dropped);
        time.disarm(kept);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(time.armed() == 0);
  CHECK(fired == 2000);
}

TEST_CASE("an armed entry may outlive its time source") {
  probe a([](instant) {});
  {
    manual_time_source time;
    time.arm(a, time.now() + 1s);
  }
  manual_time_source other;
  other.arm(a, other.now() + 1s);
  CHECK(other.armed() == 1);
  other.disarm(a);
}
