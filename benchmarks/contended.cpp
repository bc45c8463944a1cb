// More work than room: what each grant costs while others wait.
#include "clocks.hpp"
#include "reference_semaphore.hpp"
#include "subject.hpp"
#include "table.hpp"

#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace bars {
namespace {

/// Counts grants: first those that warm up, then those that are timed.
struct course {
  std::size_t warm_up;
  std::size_t timed;
  std::size_t seen = 0;
  double start = 0;
  double took = 0;

  /// Gives false when enough has been seen.
  bool pass() noexcept {
    ++seen;
    if (seen == warm_up) start = thread_cpu();
    if (seen == warm_up + timed) took = thread_cpu() - start;
    return seen < warm_up + timed;
  }
};

/// Every other request, at random, has a deadline: about an hour from when it asks. So the whole queue keeps moving,
/// and no order of memory lasts.
asio::awaitable<void> ask_again(sluice::bulkhead& gate, sluice::workload as, sluice::instant start, noise& random,
                                course& run) {
  for (std::uint64_t turn = 0;; ++turn) {
    const std::uint64_t drawn = random.next();
    const auto jitter = std::chrono::nanoseconds(drawn >> 34);
    const sluice::instant deadline =
        (drawn & 1) != 0 ? start + std::chrono::hours(1) + std::chrono::seconds(turn) + jitter : sluice::never;
    auto held = co_await gate.admit(one_call, as, {.deadline = deadline});
    if (!held || !run.pass()) co_return;
    held->release();
  }
}

asio::awaitable<void> acquire_again(reference::semaphore& gate, course& run) {
  for (;;) {
    co_await gate.async_acquire(1, asio::use_awaitable);
    if (!run.pass()) co_return;
    gate.release(1);
  }
}

course course_for(std::size_t waiters) {
  return {.warm_up = waiters + 20'000, .timed = waiters < 500'000 ? std::size_t{400'000} : waiters};
}

double grants(std::size_t waiters) {
  course run = course_for(waiters);
  noise random(waiters);
  asio::io_context io(1);
  sluice::bulkhead gate(io.get_executor(), four_classes());
  std::vector<sluice::permit> taken;
  while (auto permit = gate.try_admit(one_call, class_of(taken.size()))) taken.push_back(std::move(*permit));
  if (taken.size() != slots) std::abort();
  const sluice::instant start = gate.now();
  for (std::size_t n = 0; n < waiters + slots; ++n)
    asio::co_spawn(io, ask_again(gate, class_of(n), start, random, run), asio::detached);
  io.poll();
  taken.clear();
  while (run.took == 0) io.run_one();
  return run.took / static_cast<double>(run.timed);
}

double acquisitions(std::size_t waiters) {
  course run = course_for(waiters);
  asio::io_context io(1);
  reference::semaphore gate(slots);
  for (std::int64_t n = 0; n < slots; ++n) {
    if (!gate.try_acquire(1)) std::abort();
  }
  for (std::size_t n = 0; n < waiters + slots; ++n) asio::co_spawn(io, acquire_again(gate, run), asio::detached);
  io.poll();
  gate.release(slots);
  while (run.took == 0) io.run_one();
  return run.took / static_cast<double>(run.timed);
}

double grant_of_10() { return grants(10); }
double grant_of_1k() { return grants(1'000); }
double grant_of_1m() { return grants(1'000'000); }
double acquisition_of_1k() { return acquisitions(1'000); }

}  // namespace

std::vector<bar> contended_bars() {
  return {
      {"grant, 10 wait", "ns", grant_of_10, nullptr, 0, 9},
      {"grant, 1,000 wait", "ns", grant_of_1k, acquisition_of_1k, 1.5, 9},
      {"grant, 1,000,000 wait (vs 10)", "ns", grant_of_1m, grant_of_10, 5.0, 5},
  };
}

}  // namespace bars
