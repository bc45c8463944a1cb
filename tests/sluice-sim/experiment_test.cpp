#include "sluice-sim/experiment.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>

using namespace sluice_sim;

TEST_CASE("a bar includes its limit, and what is no number reaches nothing") {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(at_least("x", 5, 5, "").ok);
  CHECK_FALSE(at_least("x", 4.9, 5, "").ok);
  CHECK(at_most("x", 5, 5, "").ok);
  CHECK_FALSE(at_most("x", 5.1, 5, "").ok);
  CHECK(near_to("x", 8, 5, 3, "").ok);
  CHECK(near_to("x", 2, 5, 3, "").ok);
  CHECK_FALSE(near_to("x", 8.1, 5, 3, "").ok);
  CHECK_FALSE(near_to("x", 1.9, 5, 3, "").ok);
  CHECK_FALSE(at_least("x", none, 5, "").ok);
  CHECK_FALSE(at_most("x", none, 5, "").ok);
  CHECK_FALSE(near_to("x", none, 5, 3, "").ok);
}

TEST_CASE("experiments have names of their own, and say what they are") {
  std::set<std::string> names;
  for (const auto& each : experiments()) {
    CHECK(names.insert(each.name).second);
    CHECK_FALSE(each.description.empty());
    CHECK(each.run);
  }
  for (const char* name : {"E1", "E2", "E7", "speed"}) CHECK(names.count(name) == 1);
}
