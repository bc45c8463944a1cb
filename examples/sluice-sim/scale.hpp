/// \file
/// `scale`: from values to places on the page, and the values at which an axis is labelled.
#pragma once

#include <vector>

namespace sluice_sim {

/// Places may run against values: on a page, up is less.
class scale {
 public:
  /// Equal steps. `least` may equal `most`.
  [[nodiscard]] static scale even(double least, double most, double place_of_least, double place_of_most);
  /// The same, but both ends are moved out to where a label stands.
  [[nodiscard]] static scale even_to_labels(double least, double most, double place_of_least, double place_of_most);
  /// Equal factors; the ends are moved out to 1, 2 or 5 times a power of ten. Precondition: `0 < least <= most`.
  [[nodiscard]] static scale factors(double least, double most, double place_of_least, double place_of_most);

  [[nodiscard]] double least() const noexcept { return least_; }
  [[nodiscard]] double most() const noexcept { return most_; }
  [[nodiscard]] double place_of_least() const noexcept { return low_; }
  [[nodiscard]] double place_of_most() const noexcept { return high_; }
  [[nodiscard]] bool by_factors() const noexcept { return by_factors_; }

  /// Where a value is; one beyond the ends is at the end.
  [[nodiscard]] double operator()(double value) const;
  /// At most seven values between the ends, in order: round ones.
  [[nodiscard]] const std::vector<double>& labels() const noexcept { return labels_; }

 private:
  scale(double least, double most, double low, double high, bool by_factors);

  double least_;
  double most_;
  double low_;
  double high_;
  bool by_factors_;
  std::vector<double> labels_;
};

}  // namespace sluice_sim
