#include "core/length_histogram.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using sluice::core::length_histogram;

namespace {

constexpr double endless = 1e18;

}  // namespace

TEST_CASE("empty, nothing is expected") {
  const length_histogram lengths;
  CHECK(lengths.empty());
  CHECK(lengths.expected(endless) == 0);
  CHECK(lengths.quantile(0.5) == 0);
}

TEST_CASE("lengths that do not vary are exact") {
  length_histogram lengths;
  for (int sample = 0; sample < 1000; ++sample) lengths.add(777, false);
  CHECK(lengths.expected(endless) == doctest::Approx(777));
  CHECK(lengths.expected(500) == doctest::Approx(500));
  CHECK(lengths.expected(0) == 0);
  for (const double share : {0.0, 0.5, 0.95, 1.0}) CHECK(lengths.quantile(share) == doctest::Approx(777));
}

TEST_CASE("a longer memory weighs what came before more") {
  // Weights 1, 2, 4 with a memory of 2, and 1, 100/99, (100/99)^2 with one of 100.
  length_histogram brief(2);
  length_histogram lasting(100);
  for (const std::int64_t length : {10, 100, 1000}) {
    brief.add(length, false);
    lasting.add(length, false);
  }
  CHECK(brief.expected(endless) == doctest::Approx((10 + 200 + 4000) / 7.0));
  CHECK(lasting.expected(endless) == doctest::Approx((9801 * 10 + 9900 * 100 + 10000 * 1000) / 29701.0));
}

TEST_CASE("three lengths, weighted by hand") {
  // Weights 1, 10/9, 100/81, that is 81, 90 and 100 of 271.
  length_histogram lengths;
  lengths.add(10, false);
  lengths.add(100, false);
  lengths.add(1000, false);
  CHECK(lengths.expected(endless) == doctest::Approx((81 * 10 + 90 * 100 + 100 * 1000) / 271.0));
  CHECK(lengths.expected(200) == doctest::Approx((81 * 10 + 90 * 100 + 100 * 200) / 271.0));
  CHECK(lengths.expected(50) == doctest::Approx((81 * 10 + 190 * 50) / 271.0));
  CHECK(lengths.quantile(0.29) == doctest::Approx(10));
  CHECK(lengths.quantile(0.31) == doctest::Approx(100));
  CHECK(lengths.quantile(0.62) == doctest::Approx(100));
  CHECK(lengths.quantile(0.64) == doctest::Approx(1000));
  CHECK(lengths.quantile(1) == doctest::Approx(1000));
}

TEST_CASE("one bucket for each half of a doubling, with the mean of what is in it") {
  length_histogram lengths;
  lengths.add(4, false);
  lengths.add(5, false);
  lengths.add(6, false);
  // 4 and 5 share one: (9 * 4 + 10 * 5) / 19. With 6 it weighs 171 of 271.
  CHECK(lengths.quantile(0.5) == doctest::Approx(86.0 / 19));
  CHECK(lengths.quantile(0.9) == doctest::Approx(6));
}

TEST_CASE("what was cut counts as the longer ones do") {
  // Weights 81, 90, 100: the cut one, at 10, is handed to 100 and 1000 in proportion.
  length_histogram lengths;
  lengths.add(10, true);
  lengths.add(100, false);
  lengths.add(1000, false);
  CHECK(lengths.expected(endless) == doctest::Approx((90 * 100 + 100 * 1000) / 190.0));
  CHECK(lengths.expected(10) == doctest::Approx(10));
  CHECK(lengths.quantile(0.1) == doctest::Approx(100));
  CHECK(lengths.quantile(1) == doctest::Approx(1000));
}

TEST_CASE("a bucket with both kinds hands on only what was cut") {
  // 81 ended at 10; 90 cut at 10; 100 at 1000. The cut weight goes to 1000: 81 and 190 of 271.
  length_histogram lengths;
  lengths.add(10, false);
  lengths.add(10, true);
  lengths.add(1000, false);
  CHECK(lengths.expected(endless) == doctest::Approx((81 * 10 + 190 * 1000) / 271.0));
}

TEST_CASE("cut twice, it is handed on twice") {
  // 81 cut at 10 goes to 90 (cut at 100) and 100 (ended at 1000); all of that cut at 100 goes to 1000.
  length_histogram lengths;
  lengths.add(10, true);
  lengths.add(100, true);
  lengths.add(1000, false);
  CHECK(lengths.expected(endless) == doctest::Approx(1000));
}

TEST_CASE("cut with nothing longer, it is at least what was seen") {
  length_histogram lengths;
  lengths.add(10, false);
  for (int sample = 0; sample < 50; ++sample) lengths.add(256, true);
  CHECK(lengths.quantile(0.9) == doctest::Approx(256));
  CHECK(lengths.expected(endless) > 250);
  CHECK(lengths.expected(endless) <= 256);
}

TEST_CASE("a change is followed within twenty samples, also after thousands") {
  length_histogram lengths;
  for (int sample = 0; sample < 5000; ++sample) lengths.add(100, false);
  for (int sample = 0; sample < 20; ++sample) lengths.add(1100, false);
  CHECK(lengths.expected(endless) == doctest::Approx(1100 - 1000 * 0.12158).epsilon(0.001));
  CHECK(lengths.quantile(0.5) == doctest::Approx(1100));
  for (int sample = 0; sample < 1000; ++sample) lengths.add(1100, false);
  CHECK(lengths.quantile(0) == doctest::Approx(1100));
}

TEST_CASE("extreme lengths have a place") {
  length_histogram lengths;
  lengths.add(1, false);
  CHECK(lengths.quantile(0.5) == doctest::Approx(1));
  lengths.add(std::int64_t{1} << 40, false);
  CHECK(lengths.quantile(1) == doctest::Approx(0x1p40));
  lengths.add(std::numeric_limits<std::int64_t>::max(), false);
  CHECK(lengths.quantile(1) > 0x1p40);
}
