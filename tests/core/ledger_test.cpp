#include "core/ledger.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace sluice;
using namespace sluice::core;

namespace {

/// 10 slots and 100 tokens; floors 4/40 and 2/20; batch may hold 5/60.
ledger accounts() {
  policy rules({10, 100});
  rules[interactive].floor = {4, 40};
  rules[batch].floor = {2, 20};
  rules[batch].ceiling = {5, 60};
  ledger made;
  made.configure(rules);
  return made;
}

}  // namespace

TEST_CASE("what is taken is missing, what is given back is there again") {
  ledger made = accounts();
  CHECK(made.total() == capacity{10, 100});
  made.take(0, {3, 30});
  made.take(1, {1, 5});
  CHECK(made.free() == capacity{6, 65});
  CHECK(made[0].held == capacity{3, 30});
  made.resize(0, -10);
  CHECK(made.free() == capacity{6, 75});
  made.resize(0, 200);
  CHECK(made.free().tokens == -125);
  made.resize(0, -190);
  made.give(0, {3, 30});
  made.give(1, {1, 5});
  CHECK(made.free() == made.total());
}

TEST_CASE("the bounds are found in their order") {
  ledger made = accounts();
  CHECK(made.room(1, {5, 60}) == constraint::none);
  CHECK(made.room(1, {6, 60}) == constraint::class_slots);
  CHECK(made.room(1, {5, 61}) == constraint::class_tokens);
  CHECK(made.room(0, {11, 0}) == constraint::pool_slots);
  CHECK(made.room(0, {1, 101}) == constraint::pool_tokens);
  made.queue(1, 1, 15);
  CHECK(made.needs_beside(0) == capacity{1, 15});
  CHECK(made.needs_beside(1) == capacity{0, 0});
  CHECK(made.room(0, {9, 85}) == constraint::none);
  CHECK(made.room(0, {10, 10}) == constraint::protected_slots);
  CHECK(made.room(0, {9, 86}) == constraint::protected_tokens);
  // Within one's own floor nothing is kept for others.
  made.take(0, {0, 90});
  CHECK(made.room(0, {1, 10}) == constraint::protected_tokens);
  CHECK(made.room(1, {2, 10}) == constraint::none);
  CHECK(made.within_floor(1, {2, 20}));
  CHECK_FALSE(made.within_floor(1, {3, 20}));
  CHECK_FALSE(made.within_floor(1, {2, 21}));
}

TEST_CASE("need is the part of the unmet floor that is asked for") {
  ledger made = accounts();
  made.queue(0, 3, 70);
  CHECK(made[0].need == capacity{3, 40});
  made.take(0, {2, 10});
  CHECK(made[0].need == capacity{2, 30});
  made.take(0, {5, 50});
  CHECK(made[0].need == capacity{0, 0});
  made.give(0, {5, 50});
  made.unqueue(0, 2, 69);
  CHECK(made[0].need == capacity{1, 1});
  made.unqueue(0, 1, 1);
  CHECK(made[0].need == capacity{0, 0});
  CHECK(made.needs_beside(1) == capacity{0, 0});
}

TEST_CASE("possible compares with what there could ever be") {
  ledger made = accounts();
  made.take(0, {10, 100});
  CHECK(made.possible(0, {10, 100}) == constraint::none);
  CHECK(made.possible(0, {11, 1}) == constraint::pool_slots);
  CHECK(made.possible(0, {1, 101}) == constraint::pool_tokens);
  CHECK(made.possible(1, {6, 1}) == constraint::class_slots);
  CHECK(made.possible(1, {1, 61}) == constraint::class_tokens);
  policy paused({0, 0});
  paused[batch].ceiling.slots = 0;
  made.configure(paused);
  CHECK(made.possible(0, {1'000, 1'000}) == constraint::none);
  CHECK(made.possible(1, {0, 0}) == constraint::class_slots);
}

TEST_CASE("new limits leave what is held and queued") {
  ledger made = accounts();
  made.take(0, {6, 60});
  made.queue(1, 5, 50);
  CHECK(made[1].need == capacity{2, 20});
  policy smaller({4, 30});
  smaller[interactive].floor = {0, 0};
  smaller[batch].floor = {3, 10};
  made.configure(smaller);
  CHECK(made.free() == capacity{-2, -30});
  CHECK(made[0].held == capacity{6, 60});
  CHECK(made[1].need == capacity{3, 10});
  CHECK(made.needs_beside(0) == capacity{3, 10});
}

TEST_CASE("the greatest numbers do not wrap") {
  ledger made;
  policy rules({unlimited, unlimited});
  made.configure(rules);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(made.room(0, {1, most}) == constraint::pool_tokens);
  for (int i = 0; i < 100; ++i) made.queue(1, 1, most);
  CHECK(made[1].need.tokens == made[1].floor.tokens);
  for (int i = 0; i < 100; ++i) made.unqueue(1, 1, most);
  CHECK(made[1].need == capacity{});
}

TEST_CASE("a floor needs nothing on an axis without a limit: work is within it by the other alone") {
  policy rules({8, unlimited});
  rules[interactive].floor = {2, 0};
  rules[batch].floor = {};
  ledger made;
  made.configure(rules);
  CHECK(made.within_floor(0, {2, 1'000'000'000}));
  CHECK_FALSE(made.within_floor(0, {3, 0}));
  CHECK_FALSE(made.within_floor(1, {1, 0}));
  made.take(1, {8, 5});
  made.queue(0, 1, 700);
  CHECK(made[0].need == capacity{1, 700});
  made.give(1, {1, 0});
  CHECK(made.room(1, {1, 1}) == constraint::protected_slots);
  CHECK(made.room(0, {1, 700}) == constraint::none);

  policy tokens_only({unlimited, 1'000});
  tokens_only[interactive].floor = {0, 400};
  tokens_only[batch].floor = {};
  ledger other;
  other.configure(tokens_only);
  CHECK(other.within_floor(0, {1, 400}));
  CHECK_FALSE(other.within_floor(0, {1, 401}));
}
