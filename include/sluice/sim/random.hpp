/// \file
/// `sim::random`: numbers drawn from a seed, the same on every machine.
#pragma once

#include <sluice/core/time.hpp>

#include <cstdint>

namespace sluice::sim {

/// A stream of random numbers (splitmix64): the same seed, the same stream, whatever the standard library. Good for
/// simulation, not for secrets. Meets `std::uniform_random_bit_generator`.
class random {
 public:
  using result_type = std::uint64_t;

  explicit random(std::uint64_t seed) noexcept : state_(seed) {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~std::uint64_t{0}; }

  /// Any 64 bits.
  result_type operator()() noexcept;

  /// A whole number from `least` to `greatest`, both included. Precondition: `least <= greatest`.
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t greatest) noexcept;

  /// From 0 up to, but not, 1.
  [[nodiscard]] double uniform() noexcept;

  /// True with the given probability.
  [[nodiscard]] bool chance(double probability) noexcept { return uniform() < probability; }

  /// A length of time, exponentially distributed: the gap between arrivals that know nothing of each other. Never
  /// negative, and at most 40 times the mean.
  [[nodiscard]] duration exponential(duration mean) noexcept;

 private:
  std::uint64_t state_;
};

}  // namespace sluice::sim
