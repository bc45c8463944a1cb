// Room is free: what asking costs when nobody has to wait.
#include "clocks.hpp"
#include "reference_semaphore.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <sluice/runtime/bulkhead.hpp>

#include <benchmark/benchmark.h>
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace bars {
namespace {

constexpr int rounds = 200'000;
constexpr int threads = 2;

asio::awaitable<void> admit_often(sluice::bulkhead& gate, sluice::workload as, int times) {
  for (int n = 0; n < times; ++n) {
    auto held = co_await gate.admit(one_call, as);
    if (!held) std::abort();
    held->release();
  }
}

asio::awaitable<void> acquire_often(reference::semaphore& gate, int times) {
  for (int n = 0; n < times; ++n) {
    co_await gate.async_acquire(1, asio::use_awaitable);
    gate.release(1);
  }
}

void try_admit_often(sluice::bulkhead& gate, sluice::workload as, int times) {
  for (int n = 0; n < times; ++n) {
    auto held = gate.try_admit(one_call, as);
    if (!held) std::abort();
    held->release();
  }
}

double admit_alone() {
  asio::io_context io(1);
  sluice::bulkhead gate(io.get_executor(), four_classes());
  asio::co_spawn(io, admit_often(gate, sluice::interactive, rounds), asio::detached);
  const double start = thread_cpu();
  io.run();
  return (thread_cpu() - start) / rounds;
}

double acquire_alone() {
  asio::io_context io(1);
  reference::semaphore gate(slots);
  asio::co_spawn(io, acquire_often(gate, rounds), asio::detached);
  const double start = thread_cpu();
  io.run();
  return (thread_cpu() - start) / rounds;
}

double try_admit_alone() {
  asio::io_context io(1);
  sluice::bulkhead gate(io.get_executor(), four_classes());
  const double start = thread_cpu();
  try_admit_often(gate, sluice::interactive, rounds);
  return (thread_cpu() - start) / rounds;
}

// The least that any two-call gate can cost: in and out, each under an uncontended mutex.
double two_mutex_pairs() {
  std::mutex mutex;
  std::int64_t held_slots = 0;
  std::int64_t held_tokens = 0;
  const double start = thread_cpu();
  for (int n = 0; n < rounds; ++n) {
    {
      const std::lock_guard lock(mutex);
      held_slots += one_call.slots;
      held_tokens += one_call.tokens;
    }
    benchmark::DoNotOptimize(held_slots);
    {
      const std::lock_guard lock(mutex);
      held_slots -= one_call.slots;
      held_tokens -= one_call.tokens;
    }
    benchmark::DoNotOptimize(held_tokens);
  }
  return (thread_cpu() - start) / rounds;
}

/// Runs `work(number)` on every thread at once; the time on the wall for each of the rounds of all.
template <typename Work>
double on_all_threads(const Work& work) {
  std::barrier<> gathered(threads + 1);
  std::vector<std::thread> running;
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&, number] {
      gathered.arrive_and_wait();
      work(number);
    });
  }
  gathered.arrive_and_wait();
  const double start = wall();
  for (auto& each : running) each.join();
  return (wall() - start) / (threads * static_cast<double>(rounds));
}

double admit_together() {
  asio::io_context home(1);
  sluice::bulkhead gate(home.get_executor(), four_classes());
  return on_all_threads([&](int number) {
    asio::io_context io(1);
    asio::co_spawn(io, admit_often(gate, class_of(static_cast<std::size_t>(number)), rounds), asio::detached);
    io.run();
  });
}

double try_admit_together() {
  asio::io_context home(1);
  sluice::bulkhead gate(home.get_executor(), four_classes());
  return on_all_threads([&](int number) { try_admit_often(gate, class_of(static_cast<std::size_t>(number)), rounds); });
}

double acquire_together() {
  reference::semaphore gate(slots);
  return on_all_threads([&](int) {
    asio::io_context io(1);
    asio::co_spawn(io, acquire_often(gate, rounds), asio::detached);
    io.run();
  });
}

}  // namespace

std::vector<bar> uncontended_bars() {
  return {
      {"admit + release", "ns", admit_alone, acquire_alone, 0.7, 11},
      {"try_admit + release", "ns", try_admit_alone, two_mutex_pairs, 2.0, 11},
      {"admit + release, 2 threads", "ns", admit_together, acquire_together, 1.5, 11},
      {"try_admit + release, 2 threads", "ns", try_admit_together, acquire_together, 1.5, 11},
  };
}

}  // namespace bars
