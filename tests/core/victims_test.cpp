// Whom to stop: the least sunk work that covers the need, and nobody who is not needed.
#include "core/preemption.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

using namespace sluice;
using namespace sluice::core;

namespace {

/// Everything may be taken back from class 1.
borrowings all_of_it() {
  borrowings made{};
  made[1] = {1'000, 1'000'000};
  return made;
}

victim running(std::uint32_t grant, capacity part, std::int64_t sunk, std::size_t rank = 1, std::size_t workload = 1) {
  return {grant, part, sunk, rank, workload, grant};
}

std::vector<std::uint32_t> chosen(std::vector<victim> all, capacity missing, const borrowings& borrowed = all_of_it()) {
  preemption room;
  for (const victim& one : all) room.add(one);
  std::vector<std::uint32_t> who;
  for (const victim& one : room.choose(missing, borrowed)) who.push_back(one.grant);
  return who;
}

using names = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("the least sunk first, then the lowest class, then the newest") {
  CHECK(chosen({running(1, {1, 10}, 50), running(2, {1, 10}, 5), running(3, {1, 10}, 20)}, {2, 0}) == names{2, 3});
  borrowings two = all_of_it();
  two[2] = {9, 900};
  CHECK(chosen({running(1, {1, 10}, 5, 1, 1), running(2, {1, 10}, 5, 2, 2), running(3, {1, 10}, 5, 1, 1)}, {1, 0},
               two) == names{2});
  CHECK(chosen({running(1, {1, 10}, 5), running(3, {1, 10}, 5), running(2, {1, 10}, 5)}, {2, 0}) == names{3, 2});
}

TEST_CASE("one that does not help where it is missing is passed over") {
  CHECK(chosen({running(1, {0, 10}, 0), running(2, {1, 0}, 9)}, {1, 0}) == names{2});
  CHECK(chosen({running(1, {1, 0}, 0), running(2, {1, 30}, 9)}, {0, 20}) == names{2});
}

TEST_CASE("who turns out not to be needed is let go, the dearest first") {
  // 10, 10 and then 100 tokens cover 100 alone.
  CHECK(chosen({running(1, {1, 10}, 1), running(2, {1, 10}, 2), running(3, {1, 100}, 3)}, {0, 100}) == names{3});
  // For two slots and 100 tokens one of the small ones stays, the cheaper one.
  CHECK(chosen({running(1, {1, 10}, 1), running(2, {1, 10}, 2), running(3, {1, 100}, 3)}, {2, 100}) == names{1, 3});
}

TEST_CASE("when all together do not suffice, as many as help") {
  CHECK(chosen({running(1, {1, 10}, 1), running(2, {1, 10}, 2)}, {5, 0}) == names{1, 2});
  CHECK(chosen({}, {1, 1}).empty());
  CHECK(chosen({running(1, {1, 10}, 1)}, {0, 0}).empty());
}

TEST_CASE("no more is taken from a class than it has borrowed") {
  borrowings one_slot{};
  one_slot[1] = {1, 0};
  CHECK(chosen({running(1, {1, 10}, 1), running(2, {1, 10}, 2)}, {2, 0}, one_slot) == names{1});
  borrowings nothing{};
  CHECK(chosen({running(1, {1, 10}, 1)}, {1, 0}, nothing).empty());
  // Work that holds more than was borrowed on the one axis may still go by the other.
  borrowings tokens{};
  tokens[1] = {0, 10};
  CHECK(chosen({running(1, {1, 10}, 1)}, {1, 0}, tokens) == names{1});
}

TEST_CASE("numbers that have gone round are still in order") {
  victim old = running(1, {1, 0}, 0);
  old.number = 0xffff'fff0;
  victim young = running(2, {1, 0}, 0);
  young.number = 3;
  CHECK(chosen({old, young}, {1, 0}) == names{2});
}

TEST_CASE("where all ask for one slot and slots are missing, no set wastes less") {
  std::mt19937_64 draw(31);
  for (int trial = 0; trial < 2'000; ++trial) {
    std::vector<victim> all;
    const std::size_t count = 1 + draw() % 10;
    for (std::uint32_t n = 0; n < count; ++n) {
      all.push_back(running(n, {1, static_cast<std::int64_t>(draw() % 50)}, static_cast<std::int64_t>(draw() % 100)));
    }
    const auto missing = static_cast<std::int64_t>(1 + draw() % count);
    const names who = chosen(all, {missing, 0});
    REQUIRE(who.size() == static_cast<std::size_t>(missing));
    std::vector<std::int64_t> sunk;
    std::int64_t wasted = 0;
    for (const victim& one : all) sunk.push_back(one.sunk);
    for (const std::uint32_t one : who) wasted += all[one].sunk;
    std::sort(sunk.begin(), sunk.end());
    REQUIRE(wasted == std::accumulate(sunk.begin(), sunk.begin() + missing, std::int64_t{0}));
  }
}

TEST_CASE(
    "whatever is asked: the need is covered where it can be, nobody in the set could stay, and no class goes below its "
    "own") {
  std::mt19937_64 draw(37);
  const auto upto = [&draw](std::int64_t most) {
    return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most + 1));
  };
  for (int trial = 0; trial < 5'000; ++trial) {
    std::vector<victim> all;
    const std::int64_t count = upto(8);
    for (std::uint32_t n = 0; n < count; ++n) all.push_back(running(n, {1 + upto(2), upto(60)}, upto(100)));
    const capacity missing{upto(5), upto(150)};
    const names who = chosen(all, missing);
    capacity got{};
    capacity possible{};
    for (const std::uint32_t one : who) got = {got.slots + all[one].part.slots, got.tokens + all[one].part.tokens};
    for (const victim& one : all) possible = {possible.slots + one.part.slots, possible.tokens + one.part.tokens};
    const auto covers = [&missing](capacity part) {
      return part.slots >= missing.slots && part.tokens >= missing.tokens;
    };
    if (!covers(possible)) continue;
    REQUIRE(covers(got));
    for (const std::uint32_t one : who) {
      REQUIRE_FALSE(covers({got.slots - all[one].part.slots, got.tokens - all[one].part.tokens}));
    }
  }
}
