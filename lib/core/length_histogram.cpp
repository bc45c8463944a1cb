#include "core/length_histogram.hpp"

#include <algorithm>
#include <bit>

namespace sluice::core {

namespace {

constexpr double growth = 10.0 / 9;
constexpr double largest = 0x1p40;
/// What weighs less beside the newest is dropped: its mean would be all rounding.
constexpr float negligible = 0x1p-20F;

}  // namespace

std::size_t length_histogram::bucket_of(std::int64_t length) noexcept {
  if (length <= 1) return 0;
  const auto bits = static_cast<std::uint64_t>(length);
  const auto doubling = static_cast<std::size_t>(std::bit_width(bits)) - 1;
  return std::min<std::size_t>(2 * doubling + ((bits >> (doubling - 1)) & 1U), buckets - 1);
}

void length_histogram::add(std::int64_t length, bool cut) noexcept {
  const std::size_t b = bucket_of(length);
  const auto weight = static_cast<float>(next_);
  (cut ? cut_ : ended_)[b] += weight;
  sum_[b] += weight * static_cast<float>(length);
  total_ += next_;
  any_cut_ = any_cut_ || cut;
  next_ *= growth;
  if (next_ > largest) rescale();
}

void length_histogram::rescale() noexcept {
  constexpr auto factor = static_cast<float>(1 / largest);
  next_ *= 1 / largest;
  total_ = 0;
  any_cut_ = false;
  for (std::size_t b = 0; b < buckets; ++b) {
    for (auto* sums : {&ended_, &cut_, &sum_}) (*sums)[b] *= factor;
    if (ended_[b] + cut_[b] < negligible) ended_[b] = cut_[b] = sum_[b] = 0;
    total_ += static_cast<double>(ended_[b]) + static_cast<double>(cut_[b]);
    any_cut_ = any_cut_ || cut_[b] > 0;
  }
}

template <typename Take>
void length_histogram::each(Take take) const noexcept {
  std::array<double, buckets + 1> longer{};
  if (any_cut_) {
    for (std::size_t b = buckets; b-- > 1;)
      longer[b - 1] = longer[b] + static_cast<double>(ended_[b]) + static_cast<double>(cut_[b]);
  }
  double inherited = 1;
  for (std::size_t b = 0; b < buckets; ++b) {
    const double cut = static_cast<double>(cut_[b]);
    const double both = static_cast<double>(ended_[b]) + cut;
    if (both <= 0) continue;
    const bool hand_on = cut > 0 && longer[b] > 0;
    const double weight = inherited * (hand_on ? both - cut : both);
    if (weight > 0 && !take(weight, static_cast<double>(sum_[b]) / both)) return;
    if (hand_on) inherited *= (longer[b] + cut) / longer[b];
  }
}

double length_histogram::expected(double bound) const noexcept {
  double weights = 0;
  double lengths = 0;
  each([&](double weight, double mean) {
    weights += weight;
    lengths += weight * std::min(mean, bound);
    return true;
  });
  return weights > 0 ? lengths / weights : 0;
}

double length_histogram::quantile(double share) const noexcept {
  double before = 0;
  double found = 0;
  const double sought = share * total_ * (1 - 1e-6);
  each([&](double weight, double mean) {
    found = mean;
    before += weight;
    return before < sought;
  });
  return found;
}

}  // namespace sluice::core
