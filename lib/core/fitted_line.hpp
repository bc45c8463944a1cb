/// \file
/// A straight line through recent points.
#pragma once

#include <cstdint>

namespace sluice::core {

/// `y = fixed + slope * x`, by least squares over points that count less the older they are, with `fixed` and `slope`
/// never negative. It leans towards the line through the origin by as much as if the x of the points spread a tenth of
/// their mean more than they do: points of one x say nothing about `fixed`, and then it is zero.
///
/// add: O(1), a handful of multiplications. Adding and solving use + - * / alone.
class fitted_line {
 public:
  struct solution {
    double fixed = 0;
    double slope = 0;
    [[nodiscard]] double at(double x) const noexcept { return fixed + slope * x; }
  };

  /// Each new point counts `1 / (1 - share)` times the one before it: `share` of the whole, in the long run.
  explicit fitted_line(double share) noexcept : growth_(1 / (1 - share)) {}
  /// A tenth of the whole.
  fitted_line() noexcept : fitted_line(0.1) {}

  /// `x` and `y` not negative.
  void add(double x, double y) noexcept {
    weight_ += next_;
    x_ += next_ * x;
    y_ += next_ * y;
    xx_ += next_ * x * x;
    xy_ += next_ * x * y;
    next_ *= growth_;
    if (points_ < most) ++points_;
    if (next_ > largest) rescale();
  }

  /// How many points there were; stops counting at 2^20.
  [[nodiscard]] std::uint32_t points() const noexcept { return points_; }

  /// All zero without points.
  [[nodiscard]] solution solve() const noexcept;

 private:
  static constexpr std::uint32_t most = 1U << 20;
  static constexpr double largest = 0x1p40;

  void rescale() noexcept;

  double growth_;
  double next_ = 1;
  double weight_ = 0;
  double x_ = 0;
  double y_ = 0;
  double xx_ = 0;
  double xy_ = 0;
  std::uint32_t points_ = 0;
};

}  // namespace sluice::core
