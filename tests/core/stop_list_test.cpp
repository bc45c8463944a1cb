#include "core/stop_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using namespace sluice::core;

namespace {

std::vector<std::uint64_t> numbers(const stop_list& list, const grants& all, std::size_t c) {
  std::vector<std::uint64_t> found;
  for (std::uint32_t index = list.newest(c); index != no_grant; index = all[index].older)
    found.push_back(all[index].number);
  return found;
}

}  // namespace

TEST_CASE("the newest comes first, in whatever order they are listed") {
  grants all;
  stop_list list(all);
  CHECK(list.empty());
  CHECK(list.newest(3) == no_grant);
  std::vector<std::uint32_t> indices;
  for (std::uint32_t number = 1; number <= 5; ++number) {
    indices.push_back(all.take());
    all[indices.back()].number = number;
  }
  for (const std::size_t which : {2U, 0U, 4U, 1U, 3U}) list.add(3, indices[which]);
  CHECK(numbers(list, all, 3) == std::vector<std::uint64_t>{5, 4, 3, 2, 1});
  list.add(3, indices[1]);
  CHECK(numbers(list, all, 3).size() == 5);
  list.remove(3, indices[4]);
  list.remove(3, indices[0]);
  list.remove(3, indices[2]);
  CHECK(numbers(list, all, 3) == std::vector<std::uint64_t>{4, 2});
  list.remove(3, indices[2]);
  CHECK_FALSE(list.empty());
  CHECK(numbers(list, all, 0).empty());
  list.remove(3, indices[1]);
  list.remove(3, indices[3]);
  CHECK(list.empty());
}

TEST_CASE("random comings and goings in two classes") {
  grants all;
  stop_list list(all);
  std::mt19937_64 draw(5);
  std::vector<std::uint32_t> indices;
  for (std::uint32_t number = 0; number < 60; ++number) {
    indices.push_back(all.take());
    all[indices.back()].number = number;
  }
  std::vector<std::vector<std::uint64_t>> model(2);
  bool right = true;
  for (int step = 0; step < 5'000; ++step) {
    const std::size_t which = draw() % indices.size();
    auto& own = model[which % 2];
    const auto place = std::find(own.begin(), own.end(), which);
    if (place == own.end()) {
      own.push_back(which);
      list.add(which % 2, indices[which]);
    } else {
      own.erase(place);
      list.remove(which % 2, indices[which]);
    }
    std::sort(own.rbegin(), own.rend());
    right = right && numbers(list, all, which % 2) == own && list.empty() == (model[0].empty() && model[1].empty());
    if (!right) FAIL("step " << step);
  }
  CHECK(right);
}
