#include "core/fitted_line.hpp"

#include <doctest/doctest.h>

using sluice::core::fitted_line;

TEST_CASE("without points it is flat at zero") {
  const fitted_line line;
  CHECK(line.points() == 0);
  CHECK(line.solve().at(1000) == 0);
}

TEST_CASE("points of one x give the plain ratio") {
  fitted_line line;
  for (int point = 0; point < 4; ++point) line.add(200, 50);
  CHECK(line.points() == 4);
  CHECK(line.solve().fixed == doctest::Approx(0).epsilon(1e-12));
  CHECK(line.solve().slope == doctest::Approx(0.25));
  CHECK(line.solve().at(400) == doctest::Approx(100));
}

TEST_CASE("two points, by hand") {
  // Of equal weight (a share of zero): means 2 and 7, spread 1 + 0.01 * 4, common spread 3 + 0.01 * 14.
  fitted_line line(0.0);
  line.add(1, 4);
  line.add(3, 10);
  CHECK(line.solve().slope == doctest::Approx(3.14 / 1.04));
  CHECK(line.solve().fixed == doctest::Approx(7 - 2 * 3.14 / 1.04));
}

TEST_CASE("a newer point counts more") {
  // Weights 1 and 2; means 5/3 and 5/3 for x, a line through the origin whatever the weights.
  fitted_line line(0.5);
  line.add(1, 1);
  line.add(1, 4);
  CHECK(line.solve().slope == doctest::Approx(3));
}

TEST_CASE("the fixed part is found when the inputs differ") {
  fitted_line line;
  for (int point = 0; point < 40; ++point) {
    const double x = point % 2 == 0 ? 100 : 3000;
    line.add(x, 400 + 0.2 * x);
  }
  CHECK(line.solve().fixed == doctest::Approx(400).epsilon(0.02));
  CHECK(line.solve().slope == doctest::Approx(0.2).epsilon(0.02));
}

TEST_CASE("neither part is ever negative") {
  fitted_line falls(0.0);
  falls.add(1, 100);
  falls.add(100, 1);
  CHECK(falls.solve().slope == 0);
  CHECK(falls.solve().fixed == doctest::Approx(50.5));

  fitted_line steep(0.0);
  steep.add(10, 0);
  steep.add(20, 30);
  CHECK(steep.solve().fixed == 0);
  CHECK(steep.solve().slope == doctest::Approx(1));

  fitted_line zero;
  zero.add(0, 7);
  CHECK(zero.solve().fixed == doctest::Approx(7));
  CHECK(zero.solve().slope == 0);
}

TEST_CASE("a change is followed within twenty points") {
  fitted_line line;
  for (int point = 0; point < 300; ++point) line.add(100, 100);
  for (int point = 0; point < 20; ++point) line.add(100, 1100);
  // 0.9^20 = 0.1216 of the old remains.
  CHECK(line.solve().at(100) == doctest::Approx(1100 - 121.6).epsilon(0.001));
}

TEST_CASE("a hundred thousand points leave nothing overflowing") {
  fitted_line line;
  for (int point = 0; point < 100'000; ++point) line.add(1e6 * (point % 2 + 1), 1e12 * (point % 2 + 1));
  CHECK(line.points() == 100'000);
  CHECK(line.solve().slope == doctest::Approx(1e6));
  CHECK(line.solve().at(1e6) == doctest::Approx(1e12));
}
