#include "core/lane.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

TEST_CASE("deadlines come before all that have none, in their order, and are read back exactly") {
  const instant times[] = {instant{}, instant{} + 1ns, instant{} + 1h, instant{} + std::chrono::hours(24 * 365 * 100)};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(deadline_of(lane_key(times[i], 5)) == times[i]);
    CHECK(lane_key(times[i], 5) < lane_key(never, 0));
    for (std::size_t j = 0; j < i; ++j) CHECK(lane_key(times[j], 9) < lane_key(times[i], 1));
  }
  CHECK(deadline_of(lane_key(never, 77)) == never);
  // Those without one are in the order of their ranks.
  CHECK(lane_key(never, 1) < lane_key(never, 2));
  // Equal deadlines have equal keys: the rank decides apart from it.
  CHECK(lane_key(times[2], 1) == lane_key(times[2], 2));
}

TEST_CASE("a lane serves by deadline, then rank, then age, whatever comes and goes") {
  tickets all;
  std::vector<std::uint32_t> places;
  lane one;
  std::set<std::tuple<instant, std::uint64_t, std::uint64_t, std::uint32_t>> naive;
  std::vector<std::tuple<instant, std::uint64_t, std::uint64_t, std::uint32_t>> in;
  one.waiting = dary_heap<lane_item, lane_order>(lane_order{&all, &places});
  std::mt19937_64 draw(8);
  for (std::uint64_t step = 1; step <= 30'000; ++step) {
    if (in.empty() || draw() % 2 == 0) {
      const std::uint32_t index = all.take();
      if (places.size() < all.size()) places.resize(all.size());
      all[index].sequence = step;
      const std::uint64_t rank = 1 + draw() % 20;
      const instant deadline = draw() % 2 == 0 ? never : instant{} + duration(static_cast<std::int64_t>(draw() % 30));
      one.waiting.push({lane_key(deadline, rank), index, static_cast<std::uint32_t>(rank)});
      in.emplace_back(deadline, rank, step, index);
      naive.insert(in.back());
    } else {
      const auto gone = in.begin() + static_cast<std::ptrdiff_t>(draw() % in.size());
      one.waiting.erase(places[std::get<3>(*gone)]);
      all.give(std::get<3>(*gone));
      naive.erase(*gone);
      in.erase(gone);
    }
    REQUIRE(one.waiting.empty() == naive.empty());
    if (!naive.empty()) REQUIRE(one.waiting.front().index == std::get<3>(*naive.begin()));
  }
}
