#include "core/budget.hpp"

#include "core/run_tree.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::testing;
using kind = budget_verdict::kind;
using told = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
using nodes = std::vector<std::uint32_t>;

TEST_CASE("a closed run is charged no more, nor is anything below it") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id low = runs.child(top);
  const run_id carve = runs.child(top, run_funding::carve, 10);
  CHECK(runs.all.find(low) == low.index);
  CHECK(runs.all.close(top));
  CHECK(!runs.all.close(top));
  CHECK(runs.all.find(top) == no_run);
  CHECK(runs.all.find(low) == no_run);
  CHECK(runs.all.find(carve) == no_run);
  CHECK(!runs.all.balance(top).has_value());
  CHECK(runs.all.balance(low).has_value());
  CHECK(runs.refusal({.parent = low}).is(errc::invalid_argument));
  CHECK(runs.all.size() == 3);
  CHECK(runs.all.close(low));
  CHECK(runs.all.size() == 2);
  CHECK(runs.all.close(carve));
  CHECK(runs.all.size() == 0);
}

TEST_CASE("the account of a closed run is kept until what runs under it has ended") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id low = runs.child(top, run_funding::carve, 60);
  runs.reserve(low, 20);
  runs.reserve(low, 30);
  CHECK(runs.all.close(low));
  CHECK(runs.reserved(top) == 60);
  runs.settle(low, 20, 20);
  CHECK(runs.reserved(top) == 60);
  CHECK(runs.all.size() == 2);
  runs.release(low, 30);
  CHECK(runs.all.size() == 1);
  CHECK(runs.reserved(top) == 0);
  CHECK(runs.spent(top) == 20);
}

TEST_CASE("the end of the last reservation lets a whole chain of closed runs go") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id outer = runs.child(top, run_funding::carve, 60);
  const run_id inner = runs.child(outer, run_funding::carve, 30);
  runs.reserve(inner, 25);
  runs.all.close(outer);
  runs.all.close(inner);
  CHECK(runs.all.size() == 3);
  runs.settle(inner, 25, 21);
  CHECK(runs.all.size() == 1);
  CHECK(runs.spent(top) == 21);
  CHECK(runs.reserved(top) == 0);
}

TEST_CASE("no id names a run, or a later run, once its own has ended") {
  run_tree runs;
  CHECK(runs.all.find({}) == no_run);
  const run_id first = runs.root(100);
  CHECK(first != run_id{});
  runs.all.close(first);
  const run_id second = runs.root(200);
  CHECK(second.index == first.index);
  CHECK(second != first);
  CHECK(runs.all.find(first) == no_run);
  CHECK(!runs.all.balance(first).has_value());
  CHECK(!runs.all.close(first));
  CHECK(!runs.all.extend(first, tokens(1)).has_value());
  CHECK(runs.all.id_of(second.index) == second);
  CHECK(runs.remaining(second) == 200);
}

TEST_CASE("no memory is asked for while there are no more runs than there have been") {
  budget all;
  for (int round = 0; round < 1'000; ++round) {
    std::vector<run_id> open;
    for (int i = 0; i < 256; ++i) {
      open.push_back(all.open({.parent = i % 8 == 0 ? run_id{} : open.back()}, 0).value());
    }
    for (const run_id each : open) all.close(each);
    REQUIRE(all.size() == 0);
  }
  CHECK(all.cells() == 256);
}

TEST_CASE("each threshold is told once") {
  run_tree runs;
  const run_id top = runs.root(1'000, 7);
  runs.reserve(top, 499);
  CHECK(runs.crossings().empty());
  runs.reserve(top, 1);
  CHECK(runs.crossings() == told{{7, 50}});
  runs.release(top, 499);
  runs.reserve(top, 499);
  CHECK(runs.crossings().empty());
  runs.settle(top, 499, 940);
  CHECK(runs.crossings() == told{{7, 80}});
  runs.settle(top, 1, 10);
  CHECK(runs.crossings() == told{{7, 95}});
  runs.reserve(top, 50);
  CHECK(runs.crossings() == told{{7, 100}});
  runs.settle(top, 50, 500);
  CHECK(runs.crossings().empty());
}

TEST_CASE("one event can cross several thresholds, at several runs, on whichever axis is worst") {
  run_tree runs;
  const run_id top = runs.open({.limit = {.tokens = 1'000, .calls = 10}, .tag = 1});
  const run_id low = runs.open({.parent = top, .funding = run_funding::cap, .limit = {.money = 100}, .tag = 2});
  runs.all.reserve(low.index, {1, 9, 0, 80});
  CHECK(runs.crossings() == told{{2, 50}, {2, 80}, {1, 50}, {1, 80}});
  runs.all.reserve(low.index, {950, 0, 0, 14});
  CHECK(runs.crossings() == told{{1, 95}});
  runs.all.reserve(low.index, {.money = 1});
  CHECK(runs.crossings() == told{{2, 95}});
}

TEST_CASE("thresholds are reached exactly, not rounded to") {
  run_tree runs;
  const run_id top = runs.root(3, 1);
  runs.reserve(top, 1);
  CHECK(runs.crossings().empty());
  runs.reserve(top, 1);
  CHECK(runs.crossings() == told{{1, 50}});
  runs.reserve(top, 1);
  CHECK(runs.crossings() == told{{1, 80}, {1, 95}, {1, 100}});

  const run_id nothing = runs.root(0, 2);
  runs.all.reserve(nothing.index, {.calls = 1});
  CHECK(runs.crossings().empty());
  runs.settle(nothing, 0, 1);
  CHECK(runs.crossings() == told{{2, 50}, {2, 80}, {2, 95}, {2, 100}});
}

TEST_CASE("setting a carve aside counts, and so does settling it") {
  run_tree runs;
  const run_id top = runs.root(1'000, 1);
  const run_id low = runs.child(top, run_funding::carve, 600, 2);
  CHECK(runs.crossings() == told{{1, 50}});
  runs.reserve(low, 600);
  CHECK(runs.crossings() == told{{2, 50}, {2, 80}, {2, 95}, {2, 100}});
  runs.all.close(low);
  CHECK(runs.crossings().empty());
  runs.settle(low, 600, 960);
  CHECK(runs.crossings() == told{{1, 80}, {1, 95}});
}

TEST_CASE("an extension lets thresholds be crossed again that are no longer reached") {
  run_tree runs;
  const run_id top = runs.root(100, 1);
  runs.reserve(top, 96);
  CHECK(runs.crossings().size() == 3);
  CHECK(runs.all.extend(top, {}).has_value());
  runs.reserve(top, 1);
  CHECK(runs.crossings().empty());
  CHECK(runs.all.extend(top, tokens(50)).has_value());
  CHECK(runs.crossings().empty());
  runs.reserve(top, 20);
  CHECK(runs.crossings().empty());
  runs.reserve(top, 3);
  CHECK(runs.crossings() == told{{1, 80}});
}

TEST_CASE("an extension makes room, up to no limit at all") {
  run_tree runs;
  const run_id top = runs.root(100);
  runs.reserve(top, 100);
  runs.settle(top, 100, 150);
  CHECK(runs.check(top, 1) == kind::exhausted);
  CHECK(runs.all.extend(top, tokens(50)).has_value());
  CHECK(runs.check(top, 0) == kind::ok);
  CHECK(runs.check(top, 1) == kind::exhausted);
  CHECK(runs.all.extend(top, tokens(10)).has_value());
  CHECK(runs.check(top, 10) == kind::ok);
  CHECK(runs.all.balance(top)->limit.tokens == 160);
  CHECK(runs.all.extend(top, tokens(unlimited)).has_value());
  CHECK(runs.check(top, unlimited) == kind::ok);
  CHECK(runs.remaining(top) == unlimited);

  const error negative = runs.all.extend(top, {.money = -5}).error();
  CHECK(negative.is(errc::invalid_argument));
  CHECK(negative.message() == "more.money: must not be negative, is -5");
  const run_id carve = runs.child(top, run_funding::carve);
  const error carved = runs.all.extend(carve, tokens(1)).error();
  CHECK(carved.is(errc::invalid_argument));
  CHECK(carved.message() == "run 1.1 is carved: its limit stays as it was set aside");
  const error unknown = runs.all.extend({9, 9}, tokens(1)).error();
  CHECK(unknown.is(errc::invalid_argument));
  CHECK(unknown.message() == "run 9.9 is not open");
}

TEST_CASE("runs where somebody is parked are told when something ends there, the lower ones first") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id middle = runs.child(top, run_funding::cap, 500);
  const run_id low = runs.child(middle);
  CHECK(runs.all.parked(low.index) == no_run);
  runs.all.parked(top.index) = 11;
  runs.all.parked(low.index) = 12;
  runs.reserve(low, 100);
  CHECK(runs.eased().empty());
  runs.settle(low, 100, 100);
  CHECK(runs.eased() == nodes{low.index, top.index});
  runs.reserve(middle, 100);
  runs.release(middle, 100);
  CHECK(runs.eased() == nodes{top.index});
  CHECK(runs.all.extend(middle, tokens(1)).has_value());
  CHECK(runs.eased().empty());
  CHECK(runs.all.extend(top, {}).has_value());
  CHECK(runs.eased().empty());
  CHECK(runs.all.extend(top, tokens(1)).has_value());
  CHECK(runs.eased() == nodes{top.index});
  CHECK(runs.all.parked(top.index) == 11);
}

TEST_CASE("the end of a carve is told above it, not what ends inside") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id low = runs.child(top, run_funding::carve, 500);
  runs.all.parked(top.index) = 3;
  runs.all.parked(low.index) = 4;
  runs.reserve(low, 100);
  runs.reserve(low, 100);
  runs.settle(low, 100, 50);
  CHECK(runs.eased() == nodes{low.index});
  runs.all.close(low);
  CHECK(runs.eased().empty());
  runs.settle(low, 100, 50);
  CHECK(runs.eased() == nodes{top.index});
  CHECK(runs.all.parked(runs.child(top).index) == no_run);
}
