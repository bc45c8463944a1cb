/// \file
/// What the bars are measured with.
#pragma once

#include <cstdint>
#include <ctime>

namespace bars {

/// Processor time of this thread, in nanoseconds: what other programs take of the machine is not in it.
[[nodiscard]] inline double thread_cpu() noexcept {
  std::timespec at{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e9 + static_cast<double>(at.tv_nsec);
}

/// Time on the wall, in nanoseconds.
[[nodiscard]] inline double wall() noexcept {
  std::timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) * 1e9 + static_cast<double>(at.tv_nsec);
}

/// Numbers without a pattern, the same in each run.
class noise {
 public:
  explicit noise(std::uint64_t seed) noexcept : state_(seed * 0x9E37'79B9'7F4A'7C15U + 1) {}
  [[nodiscard]] std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace bars
