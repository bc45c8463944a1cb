#include "core/budget.hpp"

#include "core/run_tree.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::testing;
using kind = budget_verdict::kind;

TEST_CASE("what is reserved is set aside at all payers, and what is settled is spent at all of them") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id middle = runs.child(top, run_funding::cap, 600);
  const run_id low = runs.child(middle);
  runs.reserve(low, 400);
  for (const run_id each : {top, middle, low}) CHECK(runs.reserved(each) == 400);
  CHECK(runs.remaining(low) == 200);
  CHECK(runs.remaining(middle) == 200);
  CHECK(runs.remaining(top) == 600);
  runs.settle(low, 400, 250);
  for (const run_id each : {top, middle, low}) {
    CHECK(runs.reserved(each) == 0);
    CHECK(runs.spent(each) == 250);
  }
  CHECK(runs.remaining(low) == 350);
  CHECK(runs.all.balance(low)->limit.tokens == unlimited);
  CHECK(runs.all.balance(middle)->limit.tokens == 600);
}

TEST_CASE("what is released leaves no trace") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id low = runs.child(top);
  runs.reserve(low, 60);
  runs.release(low, 60);
  CHECK(runs.remaining(top) == 100);
  CHECK(runs.spent(top) == 0);
}

TEST_CASE("a task has started when something of it has, not when something was set aside for it") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id low = runs.child(top, run_funding::carve, 50);
  runs.reserve(low, 1);
  CHECK(!runs.all.started(low.index));
  CHECK(!runs.all.started(top.index));
  runs.all.start(low.index);
  CHECK(runs.all.started(low.index));
  CHECK(runs.all.started(top.index));
  CHECK(runs.all.started(runs.child(low).index));
}

TEST_CASE("the axes are reckoned apart") {
  run_tree runs;
  const run_id top = runs.open({.limit = {1'000, 2, unlimited, 50}});
  const auto verdict = [&](const spending& asked) { return runs.all.check(top.index, asked, false); };
  CHECK(verdict({1'000, 2, 50}).what == kind::ok);
  CHECK(verdict({1'001, 0, 0}).axis == budget_axis::tokens);
  CHECK(verdict({0, 3, 0}).axis == budget_axis::calls);
  CHECK(verdict({.money = 51}).axis == budget_axis::money);
  runs.all.reserve(top.index, {100, 1, 0, 20});
  runs.all.settle(top.index, {100, 1, 0, 20}, {90, 1, 0, 30});
  CHECK(runs.all.balance(top)->spent == spending{90, 1, 0, 30});
  CHECK(runs.all.balance(top)->remaining == spending{910, 1, unlimited, 20});
}

TEST_CASE("a run waits while what it lacks is only set aside, and is exhausted once it is spent") {
  run_tree runs;
  const run_id top = runs.root(100);
  runs.reserve(top, 70);
  CHECK(runs.check(top, 30) == kind::ok);
  const budget_verdict waits = runs.all.check(top.index, tokens(40), false);
  CHECK(waits.what == kind::wait);
  CHECK(waits.node == top.index);
  CHECK(waits.axis == budget_axis::tokens);
  CHECK(waits.limit == 100);
  CHECK(waits.available == 30);
  CHECK(waits.shortfall == 10);
  CHECK(runs.check(top, 100) == kind::wait);
  CHECK(runs.check(top, 101) == kind::exhausted);

  runs.settle(top, 70, 65);
  CHECK(runs.check(top, 35) == kind::ok);
  const budget_verdict never_more = runs.all.check(top.index, tokens(40), false);
  CHECK(never_more.what == kind::exhausted);
  CHECK(never_more.available == 35);
  CHECK(never_more.shortfall == 5);
}

TEST_CASE("the lowest run that cannot pay is named, but one that is exhausted goes before it") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id middle = runs.child(top, run_funding::cap, 80);
  const run_id low = runs.child(middle, run_funding::cap, 60);
  runs.reserve(low, 50);
  CHECK(runs.all.check(low.index, tokens(60), false).node == low.index);
  CHECK(runs.all.check(middle.index, tokens(60), false).node == middle.index);

  runs.reserve(top, 20);
  runs.settle(top, 20, 45);
  const budget_verdict verdict = runs.all.check(low.index, tokens(60), false);
  CHECK(verdict.what == kind::exhausted);
  CHECK(verdict.node == top.index);
  CHECK(verdict.limit == 100);
  CHECK(verdict.available == 5);
  CHECK(runs.all.check(low.index, tokens(55), false).what == kind::wait);
  CHECK(runs.all.check(low.index, tokens(55), false).node == low.index);
}

TEST_CASE("of several that are exhausted the lowest is named, with its first axis") {
  run_tree runs;
  const run_id top = runs.open({.limit = {100, 1, unlimited, 1}});
  const run_id low = runs.open({.parent = top, .funding = run_funding::cap, .limit = {unlimited, 1, unlimited, 1}});
  const budget_verdict verdict = runs.all.check(low.index, {101, 2, 0, 2}, false);
  CHECK(verdict.what == kind::exhausted);
  CHECK(verdict.node == low.index);
  CHECK(verdict.axis == budget_axis::calls);
}

TEST_CASE("exhausted on a later axis goes before waiting for an earlier one") {
  run_tree runs;
  const run_id top = runs.open({.limit = {100, 10, unlimited, 5}});
  runs.all.reserve(top.index, {100, 1, 0, 0});
  const budget_verdict verdict = runs.all.check(top.index, {1, 1, 0, 6}, false);
  CHECK(verdict.what == kind::exhausted);
  CHECK(verdict.axis == budget_axis::money);
}

TEST_CASE("a child's limit above its parent's does not widen the parent's") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id low = runs.child(top, run_funding::cap, 1'000);
  CHECK(runs.check(low, 100) == kind::ok);
  CHECK(runs.check(low, 101) == kind::exhausted);
  CHECK(runs.remaining(low) == 100);
}

TEST_CASE("a share has no limit of its own, whatever it says") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id low = runs.child(top, run_funding::share, 10);
  CHECK(runs.check(low, 100) == kind::ok);
  CHECK(runs.all.balance(low)->limit == spending{unlimited, unlimited, unlimited, unlimited});
}

TEST_CASE("after an overrun nothing is paid, not even what asks nothing there") {
  run_tree runs;
  const run_id top = runs.open({.limit = {100, unlimited, unlimited, 10}});
  runs.all.reserve(top.index, {50, 1, 0, 5});
  runs.all.settle(top.index, {50, 1, 0, 5}, {50, 1, 0, 12});
  const budget_verdict verdict = runs.all.check(top.index, {1, 1, 0, 0}, false);
  CHECK(verdict.what == kind::exhausted);
  CHECK(verdict.axis == budget_axis::money);
  CHECK(verdict.available == 0);
  CHECK(verdict.shortfall == 2);
  CHECK(runs.all.balance(top)->spent.money == 12);
  CHECK(runs.all.balance(top)->remaining.money == 0);
}

TEST_CASE("the finalise reserve is for the last answer alone") {
  run_tree runs;
  const run_id top = runs.open({.limit = at_most(1'000), .finalise_reserve = {.tokens = 200}});
  const run_id low = runs.child(top);
  CHECK(runs.remaining(low) == 800);
  CHECK(runs.check(low, 801) == kind::exhausted);
  CHECK(runs.all.check(low.index, tokens(801), false).limit == 800);
  CHECK(runs.check(low, 801, true) == kind::ok);
  runs.reserve(low, 800);
  CHECK(runs.check(top, 1) == kind::wait);
  CHECK(runs.check(top, 200, true) == kind::ok);
  CHECK(runs.check(top, 201, true) == kind::wait);
  runs.settle(low, 800, 800);
  CHECK(runs.check(low, 1) == kind::exhausted);
  CHECK(runs.check(top, 200, true) == kind::ok);
  runs.reserve(top, 200);
  runs.settle(top, 200, 200);
  CHECK(runs.check(top, 1, true) == kind::exhausted);
}

TEST_CASE("a carve is taken out of its parent when it opens, and what it did not spend comes back when it closes") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id middle = runs.child(top);
  const run_id low = runs.child(middle, run_funding::carve, 300);
  CHECK(runs.reserved(top) == 300);
  CHECK(runs.reserved(middle) == 300);
  CHECK(runs.remaining(middle) == 700);
  CHECK(runs.remaining(low) == 300);

  // What its parent does is nothing to it, and the other way round.
  runs.reserve(middle, 700);
  CHECK(runs.check(low, 300) == kind::ok);
  runs.reserve(low, 200);
  CHECK(runs.reserved(top) == 1'000);
  CHECK(runs.reserved(low) == 200);
  CHECK(runs.check(low, 101) == kind::wait);
  runs.settle(low, 200, 120);
  CHECK(runs.spent(low) == 120);
  CHECK(runs.spent(top) == 0);

  CHECK(runs.all.close(low));
  CHECK(runs.reserved(top) == 700);
  CHECK(runs.spent(top) == 120);
  CHECK(runs.spent(middle) == 120);
  CHECK(runs.remaining(top) == 180);
}

TEST_CASE("what can be paid later counts what is set aside for requests, but neither carves nor the finalise reserve") {
  run_tree runs;
  const run_id top = runs.all.open({.limit = {.tokens = 1'000}, .finalise_reserve = {.tokens = 100}}, 1).value();
  const run_id low = runs.child(top, run_funding::cap, 800);
  const auto payable = [&runs](run_id which) { return runs.all.balance(which)->payable.tokens; };
  CHECK(payable(top) == 900);
  CHECK(payable(low) == 800);
  CHECK(runs.all.balance(top)->payable.calls == unlimited);
  runs.reserve(low, 700);
  CHECK(payable(top) == 900);
  CHECK(runs.remaining(top) == 200);
  const run_id apart = runs.child(top, run_funding::carve, 150);
  CHECK(payable(top) == 750);
  CHECK(payable(low) == 750);
  CHECK(payable(apart) == 150);
  runs.reserve(apart, 40);
  runs.settle(apart, 40, 40);
  CHECK(payable(apart) == 110);
  runs.settle(low, 700, 600);
  CHECK(payable(low) == 150);
  REQUIRE(runs.all.close(apart));
  CHECK(payable(low) == 200);
  CHECK(payable(top) == 260);
  runs.reserve(top, 900);
  runs.settle(top, 900, 900);
  CHECK(payable(top) == 0);
}

TEST_CASE("a carve that has overspent is settled with all that it spent") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id low = runs.child(top, run_funding::carve, 100);
  runs.reserve(low, 100);
  runs.settle(low, 100, 140);
  CHECK(runs.check(low, 0) == kind::exhausted);
  CHECK(runs.remaining(top) == 900);
  runs.all.close(low);
  CHECK(runs.remaining(top) == 860);
}

TEST_CASE("a carve out of a carve comes from it alone") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id outer = runs.child(top, run_funding::carve, 400);
  const run_id inner = runs.child(outer, run_funding::carve, 250);
  CHECK(runs.reserved(top) == 400);
  CHECK(runs.reserved(outer) == 250);
  const error why = runs.refusal({.parent = outer, .funding = run_funding::carve, .limit = at_most(151)});
  CHECK(why.is(errc::refused));
  runs.reserve(inner, 10);
  runs.settle(inner, 10, 10);
  runs.all.close(outer);
  CHECK(runs.reserved(top) == 400);
  runs.all.close(inner);
  CHECK(runs.reserved(top) == 0);
  CHECK(runs.spent(top) == 10);
}

TEST_CASE("a carve that cannot be funded is refused, with the run, the axis and the numbers") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id low = runs.child(top);
  runs.reserve(top, 800);
  const error why = runs.refusal({.parent = low, .funding = run_funding::carve, .limit = at_most(300)});
  CHECK(why.is(errc::refused));
  CHECK(why.message() ==
        "limit.tokens: 300 asked, run 0.1 has 200 left to set aside of 1000; lower the limit or extend that run");
  CHECK(runs.reserved(top) == 800);
  CHECK(runs.reserved(low) == 0);
  runs.settle(top, 800, 100);
  CHECK(runs.all.open({.parent = low, .funding = run_funding::carve, .limit = at_most(300)}, 0).has_value());
}

TEST_CASE("the finalise reserve cannot be carved away") {
  run_tree runs;
  const run_id top = runs.open({.limit = at_most(1'000), .finalise_reserve = {.tokens = 200}});
  CHECK(runs.refusal({.parent = top, .funding = run_funding::carve, .limit = at_most(801)}).is(errc::refused));
  runs.child(top, run_funding::carve, 800);
  CHECK(runs.check(top, 200, true) == kind::ok);
}

TEST_CASE("a carve without a limit on an axis needs payers without one, and is booked there all the same") {
  run_tree runs;
  const run_id top = runs.open({.limit = {1'000, unlimited, unlimited, 50}});
  const error why = runs.refusal({.parent = top, .funding = run_funding::carve, .limit = at_most(100)});
  CHECK(why.is(errc::refused));
  CHECK(why.message() == "limit.money: unlimited cannot be carved out of the 50 of run 0.1; set a limit");
  const run_id low =
      runs.open({.parent = top, .funding = run_funding::carve, .limit = {100, unlimited, unlimited, 10}});
  runs.all.reserve(low.index, {10, 5, 0, 1});
  CHECK(runs.all.balance(top)->reserved == spending{100, 0, 0, 10});
  runs.all.settle(low.index, {10, 5, 0, 1}, {10, 5, 0, 1});
  runs.all.close(low);
  CHECK(runs.all.balance(top)->reserved == spending{});
  CHECK(runs.all.balance(top)->spent == spending{10, 5, 0, 1});
}

TEST_CASE("options that make no sense are refused by the name of their field") {
  run_tree runs;
  const run_id top = runs.root(100);
  const auto message = [&](const run_options& what) {
    const error why = runs.refusal(what);
    CHECK(why.is(errc::invalid_argument));
    return why.message();
  };
  CHECK(message({.limit = {1, -2, 3, 4}}) == "limit.calls: must not be negative, is -2");
  CHECK(message({.finalise_reserve = {0, 0, 0, -1}}) == "finalise_reserve.money: must not be negative, is -1");
  CHECK(message({.limit = at_most(10), .finalise_reserve = {.tokens = 11}}) ==
        "finalise_reserve.tokens: 11 is above the limit of 10; lower it or raise limit.tokens");
  CHECK(message({.parent = top, .finalise_reserve = {.calls = 1}}) ==
        "finalise_reserve.calls: 1 asked below run 0.1; only a root run can have one");
  CHECK(message({.parent = {7, 3}}) == "parent: run 7.3 is not open, or a run above it is not");
  CHECK(message({.parent = {70'000, 1}}) == "parent: run 70000.1 is not open, or a run above it is not");
  CHECK(message({.parent = {0, 2}}) == "parent: run 0.2 is not open, or a run above it is not");
}

TEST_CASE("64 runs above each other are the most") {
  run_tree runs;
  run_id low = runs.root(1'000);
  for (int depth = 2; depth <= 64; ++depth) low = runs.child(low, run_funding::cap, 1'000 - depth, 64);
  const error why = runs.refusal({.parent = low});
  CHECK(why.is(errc::invalid_argument));
  CHECK(why.message() ==
        "parent: run " + std::to_string(low.index) + ".1 is at depth 64, the greatest that is allowed");

  // One event may cross all thresholds of all of them.
  runs.reserve(low, 936);
  CHECK(runs.check(low, 1) == kind::wait);
  runs.settle(low, 936, 2'000);
  CHECK(runs.all.find(low) == low.index);
  std::size_t hundred = 0;
  for (const auto& [tag, percent] : runs.crossings()) hundred += percent == 100 ? 1 : 0;
  // Of the lowest they had been told of before.
  CHECK(hundred == 63);
}

TEST_CASE("a tree has the rank with which its root was opened, and each run its tag") {
  budget all;
  const run_id top = all.open({.tag = 5}, 77).value();
  const run_id low = all.open({.parent = top, .tag = 6}, 78).value();
  const run_id other = all.open({}, 79).value();
  CHECK(all.root_rank(top.index) == 77);
  CHECK(all.root_rank(low.index) == 77);
  CHECK(all.root_rank(other.index) == 79);
  CHECK(all.tag(top.index) == 5);
  CHECK(all.tag(low.index) == 6);
  CHECK(all.payer_above(low.index) == top.index);
  CHECK(all.payer_above(top.index) == no_run);
  const run_id carve = all.open({.parent = low, .funding = run_funding::carve, .limit = {.tokens = 1}}, 0).value();
  CHECK(all.payer_above(carve.index) == no_run);
}

TEST_CASE("the funding of a root says nothing") {
  run_tree runs;
  for (const run_funding funding : {run_funding::share, run_funding::cap, run_funding::carve}) {
    const run_id top = runs.open({.funding = funding, .limit = at_most(10)});
    CHECK(runs.check(top, 10) == kind::ok);
    CHECK(runs.check(top, 11) == kind::exhausted);
    CHECK(runs.all.extend(top, tokens(1)).has_value());
    CHECK(runs.all.close(top));
  }
}

TEST_CASE("the greatest amounts do not overflow") {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  run_tree runs;
  const run_id top = runs.root(unlimited);
  const run_id low = runs.child(top, run_funding::cap, unlimited - 1);
  for (int i = 0; i < 8; ++i) runs.reserve(low, huge);
  CHECK(runs.reserved(top) == unlimited);
  CHECK(runs.reserved(low) == unlimited);
  CHECK(runs.remaining(low) == 0);
  CHECK(runs.check(top, huge) == kind::ok);
  const budget_verdict verdict = runs.all.check(low.index, tokens(huge), false);
  CHECK(verdict.what == kind::wait);
  CHECK(verdict.available == 0);
  CHECK(verdict.shortfall == unlimited);
  for (int i = 0; i < 7; ++i) runs.release(low, huge);
  CHECK(runs.reserved(top) == huge);
  runs.settle(low, huge, huge);
  CHECK(runs.reserved(low) == 0);
  CHECK(runs.spent(low) == huge);
  CHECK(runs.remaining(low) == huge - 2);
  CHECK(runs.all.extend(low, tokens(huge)).has_value());
  CHECK(runs.all.balance(low)->limit.tokens == unlimited);
}
