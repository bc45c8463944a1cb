#include <sluice/sim/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

using namespace std::chrono_literals;

TEST_CASE("the stream is the published one of splitmix64") {
  sluice::sim::random draw(1234567);
  CHECK(draw() == 6457827717110365317U);
  CHECK(draw() == 3203168211198807973U);
  CHECK(draw() == 9817491932198370423U);
}

TEST_CASE("the same seed, the same stream; another seed, another one") {
  sluice::sim::random a(7);
  sluice::sim::random b(7);
  sluice::sim::random c(8);
  bool same = true;
  bool other = false;
  for (int i = 0; i < 100; ++i) {
    const auto drawn = a();
    same = same && drawn == b();
    other = other || drawn != c();
  }
  CHECK(same);
  CHECK(other);
}

TEST_CASE("between includes both ends and nothing beyond") {
  sluice::sim::random draw(3);
  std::vector<int> seen(5, 0);
  for (int i = 0; i < 5'000; ++i) {
    const auto drawn = draw.between(-2, 2);
    REQUIRE(drawn >= -2);
    REQUIRE(drawn <= 2);
    ++seen[static_cast<std::size_t>(drawn + 2)];
  }
  for (const int count : seen) CHECK(count > 800);
  CHECK(draw.between(9, 9) == 9);
  // The whole range does not overflow.
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const auto drawn = draw.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    (drawn < 0 ? negative : positive) = true;
  }
  CHECK(negative);
  CHECK(positive);
}

TEST_CASE("uniform and chance") {
  sluice::sim::random draw(5);
  double sum = 0;
  int heads = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double drawn = draw.uniform();
    REQUIRE(drawn >= 0);
    REQUIRE(drawn < 1);
    sum += drawn;
    heads += draw.chance(0.25) ? 1 : 0;
  }
  CHECK(sum / 10'000 == doctest::Approx(0.5).epsilon(0.02));
  CHECK(heads == doctest::Approx(2'500).epsilon(0.05));
  CHECK_FALSE(draw.chance(0));
  CHECK(draw.chance(1));
}

TEST_CASE("exponential gaps have their mean and are never negative") {
  sluice::sim::random draw(11);
  sluice::duration sum{};
  sluice::duration longest{};
  for (int i = 0; i < 20'000; ++i) {
    const auto gap = draw.exponential(250ms);
    REQUIRE(gap >= 0ns);
    sum += gap;
    longest = std::max(longest, gap);
  }
  CHECK(std::chrono::duration<double>(sum).count() / 20'000 == doctest::Approx(0.25).epsilon(0.03));
  CHECK(longest > 1s);
  CHECK(longest <= 40 * 250ms);
}
