#include "sluice-sim/figures.hpp"

#include "sluice-sim/gradient_limit.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

using namespace std::chrono_literals;
using namespace sluice_sim;

TEST_CASE("percentiles by nearest rank") {
  CHECK(percentile({3, 1, 2, 4}, 0.5) == 2);
  CHECK(percentile({3, 1, 2, 4}, 0.95) == 4);
  CHECK(percentile({3, 1, 2, 4}, 0) == 1);
  CHECK(percentile({3, 1, 2, 4}, 1) == 4);
  CHECK(std::isnan(percentile({}, 0.5)));
}

TEST_CASE("numbers and times as they are written") {
  CHECK(text("%.1f", 2.25) == "2.2");
  CHECK(in_seconds(1500ms) == 1.5);
  CHECK(in_seconds(sluice::instant{} + 2s) == 2);
}

TEST_CASE(
    "the gradient keeps its limit while idle, grows by a fifth of its queue, and halves no faster than by a tenth") {
  gradient_limit limit(20, 1, 64);
  limit.sample(1, 5);
  CHECK(limit.limit() == 20);
  limit.sample(1, 20);
  CHECK(limit.limit() == doctest::Approx(20.8));
  // An average of 1 and a last of 100: half of it, and four more, smoothed.
  const double before = limit.limit();
  for (int n = 0; n < 100; ++n) limit.sample(1, 5);
  limit.sample(100, 20);
  CHECK(limit.limit() == doctest::Approx(0.8 * before + 0.2 * (before / 2 + 4)));
}

TEST_CASE("the gradient grows to its end when all takes equally long, however long") {
  gradient_limit limit(20, 1, 64);
  for (int n = 0; n < 200; ++n) limit.sample(5, limit.limit());
  CHECK(limit.limit() == doctest::Approx(64));
}
