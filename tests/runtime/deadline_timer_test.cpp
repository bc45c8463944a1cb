// One timer for the whole gate: armed when somebody waits for a time, moved only when an earlier one comes.
#include "runtime/house.hpp"

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

struct timed {
  counting_time_source time;
  asio::io_context context;
  bulkhead gate{context.get_executor(), plain({.slots = 1, .tokens = 100}), time};
  std::vector<std::unique_ptr<answer>> answers;

  answer& wait_until(instant deadline) {
    answers.push_back(std::make_unique<answer>());
    gate.async_admit({.options = {.deadline = deadline}}, tell(*answers.back()));
    return *answers.back();
  }
  void poll() {
    context.restart();
    context.poll();
  }
};

}  // namespace

TEST_CASE_FIXTURE(timed, "never armed while nobody has a deadline") {
  auto held = gate.try_admit({}, interactive, {.deadline = gate.in(1s)});
  REQUIRE(held);
  for (int n = 0; n < 50; ++n) wait_until(never);
  held->release();
  poll();
  for (auto& each : answers) {
    each->release();
    poll();
  }
  CHECK(time.armings.empty());
  CHECK(time.disarmings == 0);
  CHECK(empty(gate));
}

TEST_CASE_FIXTURE(timed, "armed once, again only for an earlier deadline, and taken out with the last waiter") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  const instant start = time.now();
  for (int n = 0; n < 50; ++n) wait_until(start + 10s + n * 1s);
  CHECK(time.armings == std::vector{start + 10s});
  wait_until(start + 5s);
  wait_until(start + 7s);
  CHECK(time.armings == std::vector{start + 10s, start + 5s});
  CHECK(time.inner.armed() == 1);

  time.inner.advance(5s);
  poll();
  CHECK(answers[50]->why() == reason::deadline_in_queue);
  CHECK(time.armings.back() == start + 7s);
  time.inner.advance(2s);
  poll();
  CHECK(answers[51]->why() == reason::deadline_in_queue);
  CHECK(time.armings.size() == 4);
  CHECK(time.armings.back() == start + 10s);

  gate.close();
  poll();
  CHECK(time.inner.armed() == 0);
  CHECK(time.disarmings == 1);
}

TEST_CASE_FIXTURE(timed, "many deadlines that pass in one tick cost one arming") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  for (int n = 0; n < 1'000; ++n) wait_until(time.now() + 1s + n * 1us);
  time.inner.advance(2s - 1ns);
  poll();
  for (const auto& each : answers) REQUIRE(each->why() == reason::deadline_in_queue);
  // The clock fires each arming in turn as it moves; none is left behind.
  CHECK(time.inner.armed() == 0);
  CHECK(gate.statistics().all.expired_total == 1'000);
}

TEST_CASE_FIXTURE(timed, "a tick that comes for a waiter who has gone is harmless") {
  auto held = gate.try_admit({});
  REQUIRE(held);
  asio::cancellation_signal stop;
  answer gone;
  gate.async_admit({.options = {.deadline = gate.in(1s)}}, asio::bind_cancellation_slot(stop.slot(), tell(gone)));
  answer& stays = wait_until(time.now() + 3s);
  stop.emit(asio::cancellation_type::total);
  time.inner.advance(2s);
  poll();
  CHECK(stays.completions == 0);
  time.inner.advance(1s);
  poll();
  CHECK(stays.why() == reason::deadline_in_queue);
}
