/// \file
/// `latency_quantile`: how long things take, as a running quantile that forgets.
#pragma once

#include <sluice/core/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::llm::detail {

/// Eight buckets for each doubling of the microseconds, up to 2^40 of them: a quantile is right to an eighth of itself.
/// Each new sample weighs `1 / (1 - 1/memory)` times the one before it, which is the same as an exponential decay of
/// all the others.
///
/// add: O(1). quantile: O(buckets).
class latency_quantile {
 public:
  /// `memory`: so many samples count in the long run; above 1.
  explicit latency_quantile(double memory = 200) noexcept : growth_(memory / (memory - 1)) {}

  /// Negative lengths count as zero.
  void add(duration length) noexcept;
  /// All there have ever been.
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  /// The length that `share` (0 to 1) of all do not exceed. Zero when there are none.
  [[nodiscard]] duration quantile(double share) const noexcept;

 private:
  static constexpr std::size_t parts = 8;
  static constexpr std::size_t buckets = 38 * parts;
  static constexpr double largest = 0x1p60;

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t length) noexcept;
  [[nodiscard]] static double start_of(std::size_t bucket) noexcept;

  double growth_;
  double next_ = 1;
  double total_ = 0;
  std::int64_t samples_ = 0;
  std::array<double, buckets> weight_{};
};

}  // namespace sluice::llm::detail
