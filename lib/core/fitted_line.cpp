#include "core/fitted_line.hpp"

#include <initializer_list>

namespace sluice::core {

fitted_line::solution fitted_line::solve() const noexcept {
  if (points_ == 0) return {};
  constexpr double lean = 0.01;
  const double x = x_ / weight_;
  const double y = y_ / weight_;
  const double spread = xx_ / weight_ - x * x + lean * x * x;
  if (!(spread > 0)) return {y, 0};
  const double slope = (xy_ / weight_ - x * y + lean * x * y) / spread;
  if (slope < 0) return {y, 0};
  const double fixed = y - slope * x;
  if (fixed < 0) return {0, y / x};
  return {fixed, slope};
}

void fitted_line::rescale() noexcept {
  for (double* sum : {&next_, &weight_, &x_, &y_, &xx_, &xy_}) *sum *= 1 / largest;
}

}  // namespace sluice::core
