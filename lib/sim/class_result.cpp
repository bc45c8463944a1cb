#include <sluice/sim/class_result.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::sim {

double class_result::success() const noexcept {
  return arrived == 0 ? 1 : static_cast<double>(completed) / static_cast<double>(arrived);
}

duration class_result::wait_percentile(double share) const {
  if (waits_.empty()) return duration::zero();
  const double rank = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(waits_.size()));
  const std::size_t place = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
  std::vector<duration> sorted = waits_;
  const auto chosen = sorted.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(sorted.begin(), chosen, sorted.end());
  return *chosen;
}

}  // namespace sluice::sim
