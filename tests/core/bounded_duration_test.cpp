#include "core/bounded_duration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using sluice::duration;
using sluice::core::bounded_duration;

TEST_CASE("reckoned nanoseconds stay within what a duration can say") {
  CHECK(bounded_duration(1.9) == duration(1));
  CHECK(bounded_duration(0) == duration::zero());
  CHECK(bounded_duration(-5) == duration::zero());
  CHECK(bounded_duration(std::nan("")) == duration::zero());
  CHECK(bounded_duration(1e18) == duration(1'000'000'000'000'000'000));
  CHECK(bounded_duration(0x1p63) == duration::max());
  CHECK(bounded_duration(std::numeric_limits<double>::infinity()) == duration::max());
}
