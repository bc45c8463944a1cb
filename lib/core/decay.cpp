#include "core/decay.hpp"

#include <cmath>

namespace sluice::core {

namespace {

/// e^-z by its Taylor series of `Terms` terms.
template <int Terms>
double series(double z) noexcept {
  double sum = 1;
  for (int term = Terms; term >= 1; --term) sum = 1 - sum * z * (1.0 / term);
  return sum;
}

}  // namespace

double decay(double half_lives) noexcept {
  constexpr double ln2 = 0.693147180559945309417;
  if (!(half_lives > 0)) return 1;
  if (half_lives < 0x1p-7) return series<6>(half_lives * ln2);
  if (half_lives > 1000) return 0;
  const int whole = static_cast<int>(half_lives);
  double rest = half_lives - whole;
  double factor = 1;
  if (rest >= 0.5) {
    rest -= 0.5;
    factor = 0.707106781186547524401;
  }
  if (rest >= 0.25) {
    rest -= 0.25;
    factor *= 0.840896415253714543031;
  }
  return std::ldexp(factor * series<12>(rest * ln2), -whole);
}

}  // namespace sluice::core
