#include "core/explain_ring.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

using namespace sluice;
using sluice::core::explain_ring;

namespace {

std::vector<std::int64_t> kept(const explain_ring& ring) {
  std::vector<std::int64_t> tokens;
  for (const decision& each : ring.all()) tokens.push_back(each.asked.tokens);
  return tokens;
}

void write(explain_ring& ring, std::int64_t tokens) { ring.next().asked.tokens = tokens; }

}  // namespace

TEST_CASE("the last ones are kept, the oldest first, as many as a power of two") {
  explain_ring ring;
  CHECK_FALSE(ring.on());
  CHECK(ring.all().empty());
  ring.resize(3);
  CHECK(ring.on());
  for (int i = 1; i <= 3; ++i) write(ring, i);
  CHECK(kept(ring) == std::vector<std::int64_t>{1, 2, 3});
  for (int i = 4; i <= 9; ++i) write(ring, i);
  CHECK(kept(ring) == std::vector<std::int64_t>{6, 7, 8, 9});
}

TEST_CASE("the same size keeps what there is, another one forgets it, none switches it off") {
  explain_ring ring;
  ring.resize(4);
  write(ring, 1);
  ring.resize(3);
  CHECK(kept(ring) == std::vector<std::int64_t>{1});
  ring.resize(5);
  CHECK(kept(ring).empty());
  ring.resize(0);
  CHECK_FALSE(ring.on());
}

TEST_CASE("random writes agree with a queue that is cut") {
  for (const std::size_t size : {1U, 2U, 64U}) {
    explain_ring ring;
    ring.resize(size);
    std::deque<std::int64_t> naive;
    std::mt19937_64 draw(size);
    for (int step = 0; step < 1'000; ++step) {
      const auto tokens = static_cast<std::int64_t>(draw() % 1'000);
      write(ring, tokens);
      naive.push_back(tokens);
      if (naive.size() > size) naive.pop_front();
      REQUIRE(kept(ring) == std::vector<std::int64_t>(naive.begin(), naive.end()));
    }
  }
}
