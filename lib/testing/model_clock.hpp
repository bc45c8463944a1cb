/// \file
/// `model_clock`: between real time and the mock provider's own, which runs faster and can stand still.
#pragma once

#include <sluice/core/time.hpp>

#include <cmath>

namespace sluice::testing {

/// Every function is told the real time.
class model_clock {
 public:
  model_clock(double scale, instant real) noexcept : scale_(scale), real_base_(real) {}

  [[nodiscard]] instant at(instant real) const noexcept {
    if (frozen_ || real <= real_base_) return model_base_;
    return after(model_base_, scaled(real - real_base_, scale_));
  }

  /// When the model's time will be `model`; `never` while it stands still. Rounded up.
  [[nodiscard]] instant real_of(instant model) const noexcept {
    if (frozen_ || model == never) return never;
    return after(real_base_, scaled(model - model_base_, 1 / scale_) + duration(1));
  }

  void set_scale(double scale, instant real) noexcept {
    rebase(real);
    scale_ = scale;
  }

  void freeze(instant real) noexcept {
    rebase(real);
    frozen_ = true;
  }

  void thaw(instant real) noexcept {
    rebase(real);
    frozen_ = false;
  }

  [[nodiscard]] bool is_frozen() const noexcept { return frozen_; }

 private:
  static duration scaled(duration length, double by) noexcept {
    if (by == 1) return length;
    return duration(std::llround(static_cast<double>(length.count()) * by));
  }

  void rebase(instant real) noexcept {
    model_base_ = at(real);
    real_base_ = real;
  }

  double scale_;
  instant real_base_;
  instant model_base_{};
  bool frozen_ = false;
};

}  // namespace sluice::testing
