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

TEST_CASE("what fits is judged by powers of two, and one may be left out") {
  std::vector<std::int64_t> tokens{70, 100, 40, 127, 5, 0};
  shed_index::links links(tokens.size());
  shed_index index;
  const auto sequence_of = [](std::uint32_t other) { return std::uint64_t{other}; };
  for (std::uint32_t i = 0; i < tokens.size(); ++i) index.add(links, i, tokens[i], sequence_of);
  constexpr std::uint32_t nobody = shed_index::none;
  // 64 to 127 are one list: it fits whole or not at all, and then the oldest goes.
  CHECK(index.fitting(links, 1'000, nobody) == 0);
  CHECK(index.fitting(links, 127, nobody) == 0);
  CHECK(index.fitting(links, 126, nobody) == 2);
  CHECK(index.fitting(links, 127, 0) == 1);
  CHECK(index.fitting(links, 63, 2) == 4);
  CHECK(index.fitting(links, 7, 4) == 5);
  CHECK(index.fitting(links, 6, nobody) == 5);
  CHECK(index.fitting(links, 0, nobody) == 5);
  CHECK(index.fitting(links, 0, 5) == nobody);
  CHECK(index.fitting(links, -1, nobody) == nobody);
  CHECK(index.fitting(links, std::numeric_limits<std::int64_t>::max(), nobody) == 0);
}

TEST_CASE("what fits agrees with a scan, whatever comes and goes") {
  std::vector<std::int64_t> tokens(100);
  shed_index::links links(tokens.size());
  shed_index index;
  std::vector<std::uint64_t> sequences(tokens.size());
  std::vector<std::uint32_t> in;
  std::mt19937_64 draw(9);
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    const auto which = static_cast<std::uint32_t>(draw() % tokens.size());
    if (const auto place = std::find(in.begin(), in.end(), which); place != in.end()) {
      index.remove(links, which, tokens[which]);
      in.erase(place);
    } else {
      tokens[which] = static_cast<std::int64_t>(draw() % 300);
      sequences[which] = step;
      index.add(links, which, tokens[which], [&](std::uint32_t other) { return sequences[other]; });
      in.push_back(which);
    }
    const auto most = static_cast<std::int64_t>(draw() % 320);
    const auto except = static_cast<std::uint32_t>(draw() % tokens.size());
    std::uint32_t wanted = shed_index::none;
    for (const std::uint32_t one : in) {
      const std::size_t bucket = shed_index::bucket_of(tokens[one]);
      if (one == except || (std::int64_t{1} << bucket) - 1 > most) continue;
      if (wanted == shed_index::none || bucket > shed_index::bucket_of(tokens[wanted]) ||
          (bucket == shed_index::bucket_of(tokens[wanted]) && sequences[one] < sequences[wanted])) {
        wanted = one;
      }
    }
    REQUIRE(index.fitting(links, most, except) == wanted);
  }
}
