#include "core/key_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <unordered_map>

using sluice::core::key_table;

TEST_CASE("what was put in is found, what was taken out is not") {
  key_table table;
  CHECK(table.find(7) == key_table::none);
  table.erase(7);
  table.insert(7, 70);
  table.insert(0, 1);
  table.insert(0xffff'ffff'ffff'ffffU, 2);
  CHECK(table.size() == 3);
  CHECK(table.find(7) == 70);
  CHECK(table.find(0) == 1);
  CHECK(table.find(0xffff'ffff'ffff'ffffU) == 2);
  table.erase(7);
  table.erase(7);
  CHECK(table.size() == 2);
  CHECK(table.find(7) == key_table::none);
  CHECK(table.find(0) == 1);
}

TEST_CASE("keys with the same home are all found when those between them go") {
  // With sixteen places the home is the upper four bits of the product: these were chosen to share it.
  key_table table;
  std::uint64_t keys[6];
  std::size_t found = 0;
  for (std::uint64_t key = 1; found < 6; ++key) {
    if ((key * 0x9e3779b97f4a7c15U) >> 60 == 15) keys[found++] = key;
  }
  for (std::uint32_t i = 0; i < 6; ++i) table.insert(keys[i], i);
  table.erase(keys[0]);
  table.erase(keys[3]);
  for (const std::uint32_t i : {1U, 2U, 4U, 5U}) CHECK(table.find(keys[i]) == i);
  CHECK(table.find(keys[0]) == key_table::none);
  CHECK(table.find(keys[3]) == key_table::none);
  table.insert(keys[0], 9);
  CHECK(table.find(keys[0]) == 9);
}

TEST_CASE("random keys, clustered and spread, agree with a map") {
  for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{1} << 60, std::uint64_t{0x1234'5678'9abc}}) {
    key_table table;
    std::unordered_map<std::uint64_t, std::uint32_t> map;
    std::mt19937_64 draw(stride);
    for (std::uint32_t step = 0; step < 50'000; ++step) {
      const std::uint64_t key = draw() % 300 * stride;
      if (map.count(key) == 0) {
        table.insert(key, step);
        map[key] = step;
      } else if (draw() % 2 == 0) {
        table.erase(key);
        map.erase(key);
      }
      const std::uint64_t asked = draw() % 300 * stride;
      const auto known = map.find(asked);
      REQUIRE(table.find(asked) == (known == map.end() ? key_table::none : known->second));
      REQUIRE(table.size() == map.size());
    }
  }
}
