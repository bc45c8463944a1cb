#include "sluice-sim/scale.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace sluice_sim;

namespace {
using values = std::vector<double>;
}

TEST_CASE("equal steps: values between the ends are where they belong, others at the ends") {
  const scale up = scale::even(0, 10, 100, 0);
  CHECK(up(0) == 100);
  CHECK(up(2.5) == 75);
  CHECK(up(10) == 0);
  CHECK(up(11) == 0);
  CHECK(up(-1) == 100);
  CHECK(up.labels() == values{0, 2, 4, 6, 8, 10});
}

TEST_CASE("ends are kept, or moved out to labels") {
  CHECK(scale::even(0, 45.3, 0, 1).labels() == values{0, 10, 20, 30, 40});
  const scale moved = scale::even_to_labels(-33, 17, 0, 1);
  CHECK(moved.least() == -40);
  CHECK(moved.most() == 20);
  CHECK(moved.labels() == values{-40, -30, -20, -10, 0, 10, 20});
  CHECK(scale::even_to_labels(0, 32, 0, 1).most() == 40);
  CHECK(scale::even_to_labels(0, 100, 0, 1).most() == 100);
}

TEST_CASE("zero has no sign") {
  CHECK_FALSE(std::signbit(scale::even(0, 7, 0, 1).labels().front()));
  CHECK_FALSE(std::signbit(scale::even_to_labels(0, 7, 0, 1).labels().front()));
}

TEST_CASE("nothing to tell apart still has a scale") {
  const scale flat = scale::even(0, 0, 0, 10);
  CHECK(flat(0) == 0);
  CHECK(flat.most() == 1);
  CHECK(scale::even_to_labels(3, 3, 0, 10).most() == 4);
  const scale one = scale::factors(5, 5, 0, 10);
  CHECK(one(5) == 0);
  CHECK(one.most() == 10);
}

TEST_CASE("equal factors: a tenth and ten times are as far away; ends are 1, 2 or 5 times a power of ten") {
  const scale by = scale::factors(0.03, 60, 0, 100);
  CHECK(by.least() == doctest::Approx(0.02));
  CHECK(by.most() == doctest::Approx(100));
  CHECK(by(1) - by(0.1) == doctest::Approx(by(10) - by(1)));
  CHECK(by(0) == 0);
  CHECK(by(1e9) == 100);
  REQUIRE(by.labels().size() == 4);
  CHECK(by.labels()[0] == doctest::Approx(0.1));
  CHECK(by.labels()[3] == doctest::Approx(100));
  CHECK(scale::factors(1, 10, 0, 1).labels() == values{1, 2, 5, 10});
}

TEST_CASE("few labels at any size, and no place is lost") {
  for (double most = 1e-6; most < 1e9; most *= 3.7) {
    CAPTURE(most);
    const scale to = scale::even_to_labels(0, most, 0, 1);
    CHECK(to.labels().size() >= 3);
    CHECK(to.labels().size() <= 7);
    CHECK(to.most() >= most);
    CHECK(to.most() <= 2.1 * most);
  }
}
