#include "core/dary_heap.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

struct item {
  std::uint64_t key = 0;
  std::uint64_t id = 0;
};

constexpr std::size_t nowhere = ~std::size_t{0};

struct traits {
  std::vector<std::size_t>* places = nullptr;
  [[nodiscard]] bool before(const item& a, const item& b) const { return a.key != b.key ? a.key < b.key : a.id < b.id; }
  void moved(const item& which, std::size_t place) const { (*places)[which.id] = place; }
};

using heap = sluice::core::dary_heap<item, traits>;

}  // namespace

TEST_CASE("items come out in order") {
  std::vector<std::size_t> places(1'000, nowhere);
  heap sorted(traits{&places});
  CHECK(sorted.empty());
  std::mt19937_64 draw(1);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t id = 0; id < 1'000; ++id) {
    const std::uint64_t key = draw() % 300;
    keys.push_back(key);
    sorted.push({key, id});
  }
  CHECK(sorted.size() == 1'000);
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint64_t> out;
  while (!sorted.empty()) {
    out.push_back(sorted.front().key);
    sorted.pop();
  }
  CHECK(out == keys);
}

TEST_CASE("each item's place is told, and any can be taken out or changed there") {
  std::vector<std::size_t> places(500, nowhere);
  heap sorted(traits{&places});
  std::vector<item> model;
  std::mt19937_64 draw(7);
  std::uint64_t next = 0;
  bool right = true;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t what = draw() % 4;
    if ((what == 0 || model.empty()) && model.size() < places.size()) {
      // The ids of items that are gone are used again.
      while (std::any_of(model.begin(), model.end(), [&](const item& one) { return one.id == next % places.size(); }))
        ++next;
      const item made{draw() % 100, next++ % places.size()};
      model.push_back(made);
      sorted.push(made);
    } else if (what == 1) {
      const std::size_t which = draw() % model.size();
      sorted.erase(places[model[which].id]);
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (what == 2) {
      item& changed = model[draw() % model.size()];
      changed.key = draw() % 100;
      sorted.update(places[changed.id], changed);
    } else {
      sorted.prefetch();
    }
    right = right && sorted.size() == model.size();
    for (const item& one : model) right = right && sorted[places[one.id]].id == one.id;
    if (!model.empty()) {
      const item first = *std::min_element(model.begin(), model.end(),
                                           [](const item& a, const item& b) { return traits{}.before(a, b); });
      right = right && sorted.front().id == first.id;
    }
    if (!right) FAIL("step " << step);
  }
  CHECK(right);
}

TEST_CASE("four children share a cache line") {
  std::vector<std::size_t> places(100, nowhere);
  heap sorted(traits{&places});
  sorted.reserve(100);
  for (std::uint64_t id = 0; id < 100; ++id) sorted.push({id, id});
  for (std::size_t parent = 0; parent * 4 + 4 < 100; ++parent) {
    const auto first = reinterpret_cast<std::uintptr_t>(&sorted[parent * 4 + 1]);
    CHECK(first % 64 == 0);
  }
}
