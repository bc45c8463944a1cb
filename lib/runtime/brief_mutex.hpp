/// \file
/// `brief_mutex`: a mutex for sections of a few dozen instructions.
#pragma once

#include <atomic>
#include <thread>

namespace sluice {

/// Meets *Lockable*. Taking and giving it costs one atomic exchange and one plain store, where `std::mutex` needs two
/// exchanges: half the price of the sections it is made for. Whoever finds it taken spins a little and then yields, so
/// it must not be held across anything that blocks; nothing is promised about the order of those who wait.
class brief_mutex {
 public:
  void lock() noexcept {
    if (!taken_.exchange(true, std::memory_order_acquire)) return;
    wait();
  }
  [[nodiscard]] bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() noexcept {
    constexpr int patience = 64;
    for (int tries = 0;; ++tries) {
      // Looks before it takes, so that those who wait do not fight over the cache line.
      if (!taken_.load(std::memory_order_relaxed) && try_lock()) return;
      if (tries < patience) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::atomic<bool> taken_{false};
};

}  // namespace sluice
