#include "experiment.hpp"

#include <cmath>

namespace sluice_sim {

bar at_least(std::string text, double value, double limit, std::string unit) {
  return {std::move(text) + " >=", value, limit, value >= limit, std::move(unit)};
}

bar at_most(std::string text, double value, double limit, std::string unit) {
  return {std::move(text) + " <=", value, limit, value <= limit, std::move(unit)};
}

bar near_to(std::string text, double value, double target, double distance, std::string unit) {
  return {std::move(text) + " ~", value, target, std::abs(value - target) <= distance, std::move(unit)};
}

const std::vector<experiment>& experiments() {
  static const std::vector<experiment> all{make_e1(), make_e2(), make_e3(), make_e4(),
                                           make_e5(), make_e6(), make_e7(), make_speed()};
  return all;
}

}  // namespace sluice_sim
