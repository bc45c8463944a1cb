// What is promised about memory: none is asked for on the fast path, nor under contention in the steady state.
#include <sluice/core/admission.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <vector>

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* const got = alignment > alignof(std::max_align_t)
                        ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                        : std::malloc(size);
  if (got == nullptr) throw std::bad_alloc();
  return got;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, 1); }
void* operator new[](std::size_t size) { return counted(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* gone) noexcept { std::free(gone); }
void operator delete[](void* gone) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t) noexcept { std::free(gone); }
void operator delete[](void* gone, std::size_t) noexcept { std::free(gone); }
void operator delete(void* gone, std::align_val_t) noexcept { std::free(gone); }
void operator delete[](void* gone, std::align_val_t) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t, std::align_val_t) noexcept { std::free(gone); }
void operator delete[](void* gone, std::size_t, std::align_val_t) noexcept { std::free(gone); }

using namespace sluice;
using namespace sluice::core;

TEST_CASE("the counter counts") {
  const std::uint64_t before = allocations;
  const std::vector<int> some(100, 7);
  CHECK(allocations == before + 1);
  CHECK(some.size() == 100);
}

TEST_CASE("the fast path asks for no memory") {
  admission machine(policy({32, 100'000}));
  effects out;
  const request asked{.cost = {.tokens = 100}};
  const auto once = [&] {
    const auto id = machine.arrive_at_once(asked, instant::min());
    return id && machine.finish(*id, ending::released, usage{50, 20}, instant::min(), out);
  };
  REQUIRE(once());
  const std::uint64_t before = allocations;
  bool all = true;
  for (int i = 0; i < 10'000; ++i) all = once() && all;
  const std::uint64_t asked_for = allocations - before;
  CHECK(all);
  CHECK(asked_for == 0);
}

TEST_CASE("under contention the steady state asks for no memory") {
  policy rules({16, 10'000});
  rules.max_waiting = 300;
  admission machine(rules);
  effects out;
  std::vector<request_id> running;
  std::vector<request_id> waiting;
  running.reserve(10'000);
  waiting.reserve(10'000);
  std::uint64_t number = 0;
  instant now{};

  const auto round = [&] {
    out.clear();
    now += duration(10);
    request made;
    made.cost = {.tokens = static_cast<std::int64_t>(50 + number * 37 % 200), .output_tokens = 20};
    made.workload = workload(static_cast<std::uint8_t>(number % 2));
    if (number % 3 == 0) made.deadline = now + duration(number % 9 == 0 ? 15 : 400);
    ++number;
    waiting.push_back(machine.arrive(made, now, out));
    if (number % 7 == 0) machine.cancel(waiting[waiting.size() / 2], now, out);
    machine.tick(now, out);
    if (!running.empty() && number % 8 != 0) {
      (void)machine.report(running.front(), {30, 5, 10, 4}, now, out);
      machine.set_stoppable(running.back(), true, now, out);
      machine.finish(running[number % running.size()], ending::released, std::nullopt, now, out);
      running[number % running.size()] = running.back();
      running.pop_back();
    }
    for (const effect& one : out.list) {
      if (one.what == effect::kind::granted) running.push_back(one.id);
    }
    if (waiting.size() > 200) waiting.erase(waiting.begin(), waiting.begin() + 100);
  };

  // Until every vector has seen its greatest size.
  for (int i = 0; i < 20'000; ++i) round();
  REQUIRE(machine.waiting() > 0);
  const std::uint64_t before = allocations;
  for (int i = 0; i < 20'000; ++i) round();
  const std::uint64_t asked_for = allocations - before;
  CHECK(asked_for == 0);
  CHECK(machine.statistics().all.admitted_after_wait_total > 1'000);
  CHECK(machine.statistics().all.expired_total > 0);
  CHECK(machine.statistics().all.shed_total > 0);
}
