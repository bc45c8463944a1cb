#include "core/slab.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace {

struct cell {
  int content = 0;
  std::uint32_t link = 0;
};
using cells = sluice::core::slab<cell, &cell::link>;

}  // namespace

TEST_CASE("cells have numbers of their own, and do not move when the slab grows") {
  cells all;
  CHECK(all.size() == 0);
  const std::uint32_t first = all.take();
  cell* const where = &all[first];
  where->content = 7;
  std::set<std::uint32_t> taken{first};
  for (int i = 0; i < 5'000; ++i) taken.insert(all.take());
  CHECK(taken.size() == 5'001);
  CHECK(all.size() >= 5'001);
  CHECK(&all[first] == where);
  CHECK(all[first].content == 7);
}

TEST_CASE("freed cells are used again, the last one first, and the slab does not grow for them") {
  cells all;
  std::vector<std::uint32_t> taken;
  for (int i = 0; i < 1'000; ++i) taken.push_back(all.take());
  const std::uint32_t size = all.size();
  for (const std::uint32_t index : taken) all.give(index);
  CHECK(all.take() == taken.back());
  std::set<std::uint32_t> again{taken.back()};
  for (int i = 1; i < 1'000; ++i) again.insert(all.take());
  CHECK(again == std::set<std::uint32_t>(taken.begin(), taken.end()));
  CHECK(all.size() == size);
}
