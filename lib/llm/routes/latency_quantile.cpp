#include "llm/routes/latency_quantile.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

namespace sluice::llm::detail {

// Below 8 each length has a bucket of its own; from there on the three bits after the first say which eighth of the
// doubling it is.
std::size_t latency_quantile::bucket_of(std::uint64_t length) noexcept {
  if (length < parts) return static_cast<std::size_t>(length);
  const auto doubling = static_cast<std::size_t>(std::bit_width(length)) - 1;
  const auto part = static_cast<std::size_t>((length >> (doubling - 3)) & 7U);
  return std::min((doubling - 2) * parts + part, buckets - 1);
}

double latency_quantile::start_of(std::size_t bucket) noexcept {
  if (bucket < parts) return static_cast<double>(bucket);
  const auto doubling = static_cast<int>(bucket / parts) + 2;
  return std::ldexp(static_cast<double>(parts + bucket % parts), doubling - 3);
}

void latency_quantile::add(duration length) noexcept {
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(length).count();
  weight_[bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(whole, 0)))] += next_;
  total_ += next_;
  ++samples_;
  next_ *= growth_;
  if (next_ <= largest) return;
  for (double& each : weight_) each /= next_;
  total_ /= next_;
  next_ = 1;
}

duration latency_quantile::quantile(double share) const noexcept {
  if (samples_ == 0) return duration::zero();
  const double wanted = std::clamp(share, 0.0, 1.0) * total_;
  double below = 0;
  std::size_t last = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    if (weight_[b] <= 0) continue;
    last = b;
    if (below + weight_[b] >= wanted) {
      const double inside = (wanted - below) / weight_[b];
      const double length = start_of(b) + inside * (start_of(b + 1) - start_of(b));
      return std::chrono::duration_cast<duration>(std::chrono::duration<double, std::micro>(length));
    }
    below += weight_[b];
  }
  // Rounding has left a little of the whole over.
  return std::chrono::duration_cast<duration>(std::chrono::duration<double, std::micro>(start_of(last + 1)));
}

}  // namespace sluice::llm::detail
