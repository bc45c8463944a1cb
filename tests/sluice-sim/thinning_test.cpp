#include "sluice-sim/thinning.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

using namespace sluice_sim;

namespace {

points wave(int many) {
  points all;
  for (int i = 0; i < many; ++i) all.emplace_back(i, (i * 37) % 101);
  return all;
}

}  // namespace

TEST_CASE("what is not finite is left out") {
  constexpr double endless = std::numeric_limits<double>::infinity();
  CHECK(finite({{0, 1}, {endless, 2}, {3, -endless}, {4, std::numeric_limits<double>::quiet_NaN()}, {5, 6}}) ==
        points{{0, 1}, {5, 6}});
}

TEST_CASE("a thinned line is short, in order, and has the ends and the extremes of every part") {
  const points all = wave(10'000);
  const points thin = thinned(all, 50);
  CHECK(thin.size() <= 200);
  CHECK(std::is_sorted(thin.begin(), thin.end(), [](auto a, auto b) { return a.first < b.first; }));
  CHECK(thin.front() == all.front());
  CHECK(thin.back() == all.back());
  // A part of 200 points goes round twice.
  CHECK(std::count_if(thin.begin(), thin.end(), [](auto each) { return each.second == 100; }) >= 50);
  CHECK(std::count_if(thin.begin(), thin.end(), [](auto each) { return each.second == 0; }) >= 50);
  CHECK(thinned(wave(20), 50) == wave(20));
}

TEST_CASE("of rows that add up, each part keeps the place of its peak") {
  std::vector<double> x;
  std::vector<double> sums;
  for (int i = 0; i < 1'000; ++i) {
    x.push_back(i);
    sums.push_back(i % 100 == 77 ? 9 : 1);
  }
  const auto kept = peaks(x, sums, 10);
  REQUIRE(kept.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(kept[i] == 100 * i + 77);
  CHECK(peaks({0, 1, 2}, {1, 1, 1}, 10) == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("of dots at the same place one is left, of others all") {
  CHECK(apart({{0, 0}, {0.1, 0.1}, {5, 5}, {0, 0}, {5, 9}}, 1.5) == points{{0, 0}, {5, 5}, {5, 9}});
}

TEST_CASE("neighbours are averaged until they are few enough") {
  CHECK(averaged({{0, 1}, {1, 3}, {2, 5}, {3, 7}, {4, 8}}, 3) == points{{0, 2}, {2, 6}, {4, 8}});
  CHECK(averaged({{0, 1}, {1, 3}}, 3) == points{{0, 1}, {1, 3}});
}

TEST_CASE("a running share is that of the points around, and nothing where they are few") {
  points all;
  for (int i = 0; i < 100; ++i) all.emplace_back(i, i < 50 ? 1 : 2);
  const auto pieces = running_share(all, 0.5, 10, 99);
  REQUIRE(pieces.size() == 1);
  REQUIRE(pieces[0].size() == 100);
  CHECK(pieces[0][20] == std::pair<double, double>{20, 1});
  CHECK(pieces[0][80] == std::pair<double, double>{80, 2});
  // Among 1 to 100, 95 of 100 lie below 96.
  points row;
  for (int i = 1; i <= 100; ++i) row.emplace_back(0, i);
  const auto at_once = running_share(row, 0.95, 1, 1);
  REQUIRE(at_once.size() == 1);
  CHECK(at_once[0].front().second == 96);
  // A gap in the points is one in the line.
  points apart;
  for (int i = 0; i < 10; ++i) apart.emplace_back(i * 0.1, 1);
  for (int i = 0; i < 10; ++i) apart.emplace_back(100 + i * 0.1, 1);
  CHECK(running_share(apart, 0.5, 4, 100).size() == 2);
  CHECK(running_share({}, 0.5, 1, 10).empty());
  CHECK(running_share({{1, 1}}, 0.5, 1, 10).empty());
}
