#include "scale.hpp"

#include <algorithm>
#include <cmath>

namespace sluice_sim {
namespace {

constexpr double most_steps = 5;

double round_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / most_steps)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (range / (times * power) <= most_steps) return times * power;
  }
  return 10 * power;
}

std::vector<double> multiples(double step, double least, double most) {
  std::vector<double> all;
  // Adding zero takes the sign from one.
  for (double k = std::ceil(least / step - 1e-9); k <= most / step + 1e-9; ++k) all.push_back(k * step + 0.0);
  return all;
}

// 1, 2 and 5 times the powers of ten, counted through: 1 is 0, 2 is 1, 5 is 2, 10 is 3.
double preferred(int number) {
  constexpr double times[]{1, 2, 5};
  const int within = ((number % 3) + 3) % 3;
  return times[within] * std::pow(10, (number - within) / 3);
}

int preferred_from(double value) {
  int number = 3 * static_cast<int>(std::floor(std::log10(value))) + 3;
  while (preferred(number) > value * (1 + 1e-9)) --number;
  return number;
}

}  // namespace

scale::scale(double least, double most, double low, double high, bool by_factors)
    : least_(least), most_(most), low_(low), high_(high), by_factors_(by_factors) {}

scale scale::even(double least, double most, double place_of_least, double place_of_most) {
  scale made(least, most > least ? most : least + 1, place_of_least, place_of_most, false);
  made.labels_ = multiples(round_step(made.most_ - made.least_), made.least_, made.most_);
  return made;
}

scale scale::even_to_labels(double least, double most, double place_of_least, double place_of_most) {
  if (most <= least) most = least + 1;
  const double step = round_step(most - least);
  scale made(step * std::floor(least / step + 1e-9), step * std::ceil(most / step - 1e-9), place_of_least,
             place_of_most, false);
  made.labels_ = multiples(step, made.least_, made.most_);
  return made;
}

scale scale::factors(double least, double most, double place_of_least, double place_of_most) {
  const int first = preferred_from(least);
  int last = preferred_from(most);
  if (preferred(last) < most * (1 - 1e-9) || last == first) ++last;
  scale made(preferred(first), preferred(last), place_of_least, place_of_most, true);
  const bool wide = last - first > 6;
  for (int number = first; number <= last; ++number) {
    if (!wide || number % 3 == 0) made.labels_.push_back(preferred(number));
  }
  return made;
}

double scale::operator()(double value) const {
  const double inside = std::clamp(value, least_, most_);
  const double share =
      by_factors_ ? std::log(inside / least_) / std::log(most_ / least_) : (inside - least_) / (most_ - least_);
  return low_ + share * (high_ - low_);
}

}  // namespace sluice_sim
