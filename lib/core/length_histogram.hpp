/// \file
/// How long answers are: recent lengths on a logarithmic scale.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// Two buckets for each doubling, up to 2^20 tokens; each keeps the mean of its lengths, so that lengths that do not
/// vary are exact. Each new length counts one in `memory` in the long run: with 10, a change is followed within about
/// 20.
///
/// A length that was cut short is known only to be at least so long: it counts as the longer ones do, as far as there
/// are any (the Kaplan-Meier estimate), so that small reservations do not make answers look short.
///
/// add: O(1). expected, quantile: O(buckets).
class length_histogram {
 public:
  length_histogram() noexcept : length_histogram(10) {}
  /// `memory` is above 1.
  explicit length_histogram(double memory) noexcept : growth_(memory / (memory - 1)) {}

  /// `length` is positive; `cut`: it would have been longer, had it been allowed to.
  void add(std::int64_t length, bool cut) noexcept {
    const std::size_t b = bucket_of(length);
    const auto weight = static_cast<float>(next_);
    (cut ? cut_ : ended_)[b] += weight;
    sum_[b] += weight * static_cast<float>(length);
    total_ += next_;
    any_cut_ = any_cut_ || cut;
    next_ *= growth_;
    if (next_ > largest) rescale();
  }

  [[nodiscard]] bool empty() const noexcept { return total_ == 0; }

  /// The mean of `min(length, bound)`. Zero when empty.
  [[nodiscard]] double expected(double bound) const noexcept;

  /// The length that `share` (0 to 1) of all do not exceed, to the nearest bucket. Zero when empty.
  [[nodiscard]] double quantile(double share) const noexcept;

 private:
  static constexpr std::size_t buckets = 40;
  static constexpr double largest = 0x1p40;

  [[nodiscard]] static std::size_t bucket_of(std::int64_t length) noexcept {
    if (length <= 1) return 0;
    const auto bits = static_cast<std::uint64_t>(length);
    const auto doubling = static_cast<std::size_t>(std::bit_width(bits)) - 1;
    return std::min<std::size_t>(2 * doubling + ((bits >> (doubling - 1)) & 1U), buckets - 1);
  }
  /// Calls `take(weight, mean)` for each bucket, the shortest first, until it gives false. The weights sum to `total_`.
  template <typename Take>
  void each(Take take) const noexcept;
  void rescale() noexcept;

  double growth_;
  double next_ = 1;
  double total_ = 0;
  bool any_cut_ = false;
  std::array<float, buckets> ended_{};
  std::array<float, buckets> cut_{};
  /// Of the lengths of both kinds.
  std::array<float, buckets> sum_{};
};

}  // namespace sluice::core
