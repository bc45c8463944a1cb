#include "core/decay.hpp"

#include <doctest/doctest.h>

#include <cmath>

using sluice::core::decay;

TEST_CASE("whole half-lives are exact") {
  CHECK(decay(0) == 1);
  CHECK(decay(1) == 0.5);
  CHECK(decay(2) == 0.25);
  CHECK(decay(10) == 0x1p-10);
  CHECK(decay(1000) == 0x1p-1000);
}

TEST_CASE("what is out of range is nothing left, or all") {
  CHECK(decay(-1) == 1);
  CHECK(decay(std::nan("")) == 1);
  CHECK(decay(1000.5) == 0);
  CHECK(decay(1e300) == 0);
}

TEST_CASE("in between it agrees with the power function, and never rises") {
  double worst = 0;
  double before = 1;
  bool falls = true;
  for (int step = 1; step <= 50'000; ++step) {
    const double half_lives = step * 0.0004;
    const double left = decay(half_lives);
    worst = std::fmax(worst, std::fabs(left / std::exp2(-half_lives) - 1));
    falls = falls && left < before;
    before = left;
  }
  CHECK(worst < 1e-14);
  CHECK(falls);
}

TEST_CASE("the same time in many small steps is the same decay") {
  double left = 1;
  for (int step = 0; step < 10'000; ++step) left *= decay(0.0003);
  CHECK(left == doctest::Approx(0.125).epsilon(1e-10));
}
