#include "core/shed_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

using sluice::core::shed_index;

TEST_CASE("buckets are powers of two, up to the greatest number") {
  CHECK(shed_index::bucket_of(0) == 0);
  CHECK(shed_index::bucket_of(1) == 1);
  CHECK(shed_index::bucket_of(1'023) == shed_index::bucket_of(512));
  CHECK(shed_index::bucket_of(1'024) == shed_index::bucket_of(1'023) + 1);
  CHECK(shed_index::bucket_of(std::numeric_limits<std::int64_t>::max()) == 63);
}

TEST_CASE("the worst is the youngest of the costliest bucket, whatever comes and goes") {
  struct waiter {
    std::int64_t tokens = 0;
    std::uint64_t sequence = 0;
  };
  std::vector<waiter> all(200);
  shed_index::links links(all.size());
  shed_index index;
  std::vector<std::uint32_t> in;
  std::mt19937_64 draw(3);
  CHECK(index.worst() == shed_index::none);
  bool right = true;
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    const auto which = static_cast<std::uint32_t>(draw() % all.size());
    const auto place = std::find(in.begin(), in.end(), which);
    if (place != in.end()) {
      index.remove(links, which, all[which].tokens);
      in.erase(place);
    } else {
      // Some come again with an old age.
      all[which] = {static_cast<std::int64_t>(draw() >> (1 + draw() % 63)),
                    draw() % 5 == 0 ? draw() % step * 2 + 1 : step * 2};
      index.add(links, which, all[which].tokens, [&all](std::uint32_t other) { return all[other].sequence; });
      in.push_back(which);
    }
    if (in.empty()) {
      right = right && index.worst() == shed_index::none;
    } else {
      const auto badness = [&all](std::uint32_t one) {
        return std::pair(shed_index::bucket_of(all[one].tokens), all[one].sequence);
      };
      const std::uint32_t worst = *std::max_element(
          in.begin(), in.end(), [&](std::uint32_t a, std::uint32_t b) { return badness(a) < badness(b); });
      right = right && badness(index.worst()) == badness(worst);
    }
    if (!right) FAIL("step " << step);
  }
  CHECK(right);
}
