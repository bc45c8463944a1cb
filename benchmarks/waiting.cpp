// What waiting costs: memory, being cancelled, and running out of time.
#include "clocks.hpp"
#include "reference_semaphore.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <malloc.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

namespace bars {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t crowd = 100'000;
constexpr std::size_t cancelled = 20'000;
constexpr std::size_t at_a_time = 50;

std::vector<std::size_t> shuffled_crowd() {
  std::vector<std::size_t> order(crowd);
  std::iota(order.begin(), order.end(), std::size_t{0});
  noise random(7);
  for (std::size_t left = crowd; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

/// A gate with all its room taken.
struct full_gate {
  explicit full_gate(asio::io_context& io) : gate(io.get_executor(), four_classes()) {
    while (auto permit = gate.try_admit(one_call, class_of(taken.size()))) taken.push_back(std::move(*permit));
    if (taken.size() != slots) std::abort();
  }
  sluice::bulkhead gate;
  std::vector<sluice::permit> taken;
};

struct full_semaphore {
  explicit full_semaphore() : gate(slots) {
    for (std::int64_t n = 0; n < slots; ++n) {
      if (!gate.try_acquire(1)) std::abort();
    }
  }
  reference::semaphore gate;
};

/// Emits for a random part of the crowd, a few at a time, and runs what completes.
double cancel_some(asio::io_context& io, std::deque<asio::cancellation_signal>& signals, const std::size_t& ended) {
  const auto order = shuffled_crowd();
  io.poll();
  const double start = thread_cpu();
  for (std::size_t n = 0; n < cancelled;) {
    for (const std::size_t end = n + at_a_time; n < end; ++n) signals[order[n]].emit(asio::cancellation_type::terminal);
    io.restart();
    io.poll();
  }
  const double took = thread_cpu() - start;
  if (ended != cancelled) std::abort();
  return took / cancelled;
}

double cancel_admission() {
  std::size_t ended = 0;
  std::deque<asio::cancellation_signal> signals(crowd);
  asio::io_context io(1);
  full_gate full(io);
  const sluice::instant later = full.gate.in(1h);
  for (std::size_t n = 0; n < crowd; ++n) {
    const auto deadline = n % 2 == 0 ? later + std::chrono::microseconds(n) : sluice::never;
    full.gate.async_admit({one_call, class_of(n), {.deadline = deadline}},
                          asio::bind_cancellation_slot(signals[n].slot(), [&ended](const auto&) { ++ended; }));
  }
  return cancel_some(io, signals, ended);
}

double cancel_acquisition() {
  std::size_t ended = 0;
  std::deque<asio::cancellation_signal> signals(crowd);
  asio::io_context io(1);
  full_semaphore full;
  for (std::size_t n = 0; n < crowd; ++n) {
    full.gate.async_acquire(
        1, asio::bind_cancellation_slot(
               signals[n].slot(), asio::bind_executor(io.get_executor(), [&ended](std::error_code) { ++ended; })));
  }
  return cancel_some(io, signals, ended);
}

asio::awaitable<void> admit_in_vain(sluice::bulkhead& gate, sluice::workload as, sluice::instant deadline,
                                    std::size_t& late) {
  auto held = co_await gate.admit(one_call, as, {.deadline = deadline});
  if (!held && held.error().reason() == sluice::reason::deadline_in_queue) ++late;
}

asio::awaitable<void> acquire_in_vain(reference::semaphore& gate, sluice::instant deadline, std::size_t& late) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, deadline);
  const auto first = co_await (gate.async_acquire(1, asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
  if (first.index() == 1) ++late;
}

/// Long enough to queue all of the crowd on a busy machine; only the processor's time is counted.
constexpr auto patience = 3s;

sluice::instant deadline_of(sluice::instant start, noise& random) {
  return start + patience + std::chrono::microseconds(random.below(100'000));
}

double expire_admissions() {
  std::size_t late = 0;
  noise random(11);
  asio::io_context io(1);
  full_gate full(io);
  const sluice::instant from = full.gate.now();
  const double start = thread_cpu();
  for (std::size_t n = 0; n < crowd; ++n)
    asio::co_spawn(io, admit_in_vain(full.gate, class_of(n), deadline_of(from, random), late), asio::detached);
  io.run();
  const double took = thread_cpu() - start;
  if (late != crowd) std::abort();
  return took / crowd;
}

double expire_acquisitions() {
  std::size_t late = 0;
  noise random(11);
  asio::io_context io(1);
  full_semaphore full;
  const sluice::instant from = std::chrono::steady_clock::now();
  const double start = thread_cpu();
  for (std::size_t n = 0; n < crowd; ++n)
    asio::co_spawn(io, acquire_in_vain(full.gate, deadline_of(from, random), late), asio::detached);
  io.run();
  const double took = thread_cpu() - start;
  if (late != crowd) std::abort();
  return took / crowd;
}

/// Bytes that the allocator has given out, its own rounding included.
double bytes_in_use() {
  const auto all = ::mallinfo2();
  return static_cast<double>(all.uordblks + all.hblkhd);
}

asio::awaitable<void> acquire_once(reference::semaphore& gate) { co_await gate.async_acquire(1, asio::use_awaitable); }

double memory_of_admission() {
  std::size_t late = 0;
  asio::io_context io(1);
  full_gate full(io);
  const sluice::instant later = full.gate.in(1h);
  const double before = bytes_in_use();
  for (std::size_t n = 0; n < crowd; ++n)
    asio::co_spawn(io, admit_in_vain(full.gate, class_of(n), later + std::chrono::microseconds(n), late),
                   asio::detached);
  io.poll();
  return (bytes_in_use() - before) / crowd;
}

double memory_of_acquisition() {
  asio::io_context io(1);
  full_semaphore full;
  const double before = bytes_in_use();
  for (std::size_t n = 0; n < crowd; ++n) asio::co_spawn(io, acquire_once(full.gate), asio::detached);
  io.poll();
  return (bytes_in_use() - before) / crowd;
}

}  // namespace

std::vector<bar> waiting_bars() {
  return {
      {"cancel 1 of 100,000 waiters", "ns", cancel_admission, cancel_acquisition, 1.5, 9},
      {"deadline of 1 of 100,000 waiters", "ns", expire_admissions, expire_acquisitions, 0.2, 3},
      {"memory of a waiting coroutine", "B", memory_of_admission, memory_of_acquisition, 1.25, 3},
  };
}

}  // namespace bars
