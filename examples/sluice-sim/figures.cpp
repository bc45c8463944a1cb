#include "figures.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>

namespace sluice_sim {

std::string text(const char* format, double value) {
  char written[48];
  std::snprintf(written, sizeof written, format, value);
  return written;
}

double in_seconds(sluice::duration length) { return std::chrono::duration<double>(length).count(); }
double in_seconds(sluice::instant when) { return in_seconds(when.time_since_epoch()); }

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto place = static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(values.size()))) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

}  // namespace sluice_sim
