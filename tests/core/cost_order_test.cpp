#include "core/cost_order.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

using sluice::core::cost_order;

TEST_CASE("the cheapest is first, of equals the oldest; it costs nothing while it is not wanted") {
  cost_order order;
  CHECK_FALSE(order.active());
  CHECK(order.cheapest() == 0xffff'ffff);
  std::vector<std::uint32_t> places(8);
  order.start(places);
  CHECK(order.active());
  CHECK(order.cheapest() == 0xffff'ffff);
  order.add(3, 50, 1);
  order.add(4, 20, 3);
  order.add(5, 20, 2);
  CHECK(order.cheapest() == 5);
  order.remove(places[5]);
  CHECK(order.cheapest() == 4);
  order.remove(places[4]);
  CHECK(order.cheapest() == 3);
  order.stop();
  CHECK_FALSE(order.active());
  CHECK(order.cheapest() == 0xffff'ffff);
}

TEST_CASE("ages are in order beyond 32 bits of them") {
  cost_order order;
  std::vector<std::uint32_t> places(8);
  order.start(places);
  const std::uint64_t wrap = std::uint64_t{1} << 32;
  order.add(1, 7, wrap + 1);
  order.add(2, 7, wrap - 1);
  CHECK(order.cheapest() == 2);
}

TEST_CASE("whatever comes and goes, the cheapest agrees with a sorted set") {
  cost_order order;
  std::vector<std::uint32_t> places(200);
  order.start(places);
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> all;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> of(places.size());
  std::vector<bool> in(places.size());
  std::mt19937_64 draw(2);
  for (std::uint64_t step = 1; step <= 50'000; ++step) {
    const auto index = static_cast<std::uint32_t>(draw() % places.size());
    if (in[index]) {
      order.remove(places[index]);
      all.erase(of[index]);
    } else {
      of[index] = {draw() % 40, step, index};
      order.add(index, std::get<0>(of[index]), step);
      all.insert(of[index]);
    }
    in[index] = !in[index];
    REQUIRE(order.cheapest() == (all.empty() ? 0xffff'ffff : std::get<2>(*all.begin())));
  }
}
