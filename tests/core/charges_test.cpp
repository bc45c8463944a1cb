// What is spent at once, without a request: calls of tools, and what they cost.
#include "core/logged_gate.hpp"
#include "core/run_tree.hpp"

#include <sluice/core/event_log.hpp>
#include <sluice/core/replay.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;
using sluice::core::testing::run_tree;
using cause = charge_refusal::cause;
using told = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

namespace {

constexpr spending of_tools(std::int64_t many) { return {.tool_calls = many}; }

charge_refusal refusal_of(run_tree& runs, run_id who, const spending& what) {
  const auto done = runs.all.charge(who, what);
  REQUIRE(!done.has_value());
  CHECK(runs.crossings().empty());
  CHECK(runs.eased().empty());
  return done.error();
}

}  // namespace

TEST_CASE("a charge is spent at all payers at once, and is nothing set aside") {
  run_tree runs;
  const run_id top = runs.open({.limit = {.tool_calls = 10}});
  const run_id middle = runs.open({.parent = top, .funding = run_funding::cap, .limit = {.tool_calls = 5}});
  const run_id low = runs.open({.parent = middle});
  CHECK(runs.all.charge(low, {7, 0, 3, 9}).has_value());
  for (const run_id each : {top, middle, low}) {
    CHECK(runs.all.balance(each)->spent == spending{7, 0, 3, 9});
    CHECK(runs.all.balance(each)->reserved == spending{});
  }
  CHECK(runs.all.balance(low)->remaining == spending{unlimited, unlimited, 2, unlimited});
  CHECK(runs.all.balance(top)->remaining.tool_calls == 7);
  CHECK(!runs.all.under_way(low.index));
  CHECK(!runs.all.started(low.index));
  CHECK(runs.all.charge(low, {}).has_value());
}

TEST_CASE("one payer that cannot pay keeps all from paying, and is named") {
  run_tree runs;
  const run_id top = runs.open({.limit = {.tool_calls = 10}});
  const run_id middle = runs.open({.parent = top, .funding = run_funding::cap, .limit = {.tool_calls = 8}});
  const run_id low = runs.open({.parent = middle, .funding = run_funding::cap, .limit = {.tool_calls = 20}});
  CHECK(runs.all.charge(top, of_tools(6)).has_value());
  CHECK(refusal_of(runs, low, of_tools(5)) ==
        charge_refusal{cause::exhausted, budget_axis::tool_calls, top, 10, 4, 1, 5});
  CHECK(refusal_of(runs, low, of_tools(9)) ==
        charge_refusal{cause::exhausted, budget_axis::tool_calls, middle, 8, 8, 1, 9});
  CHECK(runs.all.balance(low)->spent == spending{});
  CHECK(runs.all.balance(middle)->spent == spending{});
  CHECK(runs.all.balance(top)->spent == of_tools(6));
  CHECK(runs.all.charge(low, of_tools(4)).has_value());
  CHECK(refusal_of(runs, top, of_tools(1)).available == 0);
}

TEST_CASE("what is only set aside is not there for a charge, which says so") {
  run_tree runs;
  const run_id top = runs.root(100);
  runs.reserve(top, 70);
  CHECK(refusal_of(runs, top, {.tokens = 31}) ==
        charge_refusal{cause::set_aside, budget_axis::tokens, top, 100, 30, 1, 31});
  CHECK(runs.all.charge(top, {.tokens = 30}).has_value());
  runs.settle(top, 70, 69);
  CHECK(refusal_of(runs, top, {.tokens = 2}).why == cause::exhausted);
  CHECK(runs.all.charge(top, {.tokens = 1}).has_value());
  CHECK(runs.spent(top) == 100);
}

TEST_CASE("a carved run is charged alone, and what it was charged is spent above it when it ends") {
  run_tree runs;
  const run_id top = runs.open({.limit = {.tool_calls = 10}});
  const run_id low = runs.open({.parent = top, .funding = run_funding::carve, .limit = {.tool_calls = 4}});
  CHECK(runs.all.charge(low, of_tools(3)).has_value());
  CHECK(runs.all.balance(top)->spent == spending{});
  CHECK(runs.all.balance(top)->reserved == of_tools(4));
  CHECK(refusal_of(runs, low, of_tools(2)).who == low);
  CHECK(refusal_of(runs, top, of_tools(7)).why == cause::set_aside);
  CHECK(runs.all.close(low));
  CHECK(runs.all.balance(top)->spent == of_tools(3));
  CHECK(runs.all.balance(top)->reserved == spending{});
}

TEST_CASE("the finalise reserve is not there for a charge") {
  run_tree runs;
  const run_id top = runs.open({.limit = {.tool_calls = 10}, .finalise_reserve = {.tool_calls = 3}});
  CHECK(refusal_of(runs, top, of_tools(8)) ==
        charge_refusal{cause::exhausted, budget_axis::tool_calls, top, 7, 7, 1, 8});
  CHECK(runs.all.charge(top, of_tools(7)).has_value());
}

TEST_CASE("nothing is charged to a run that is closed, or below a closed one, nor anything negative") {
  run_tree runs;
  const run_id top = runs.root(100);
  const run_id low = runs.child(top);
  CHECK(refusal_of(runs, {9, 9}, of_tools(1)) == charge_refusal{.why = cause::not_open, .who = {9, 9}});
  CHECK(refusal_of(runs, {}, of_tools(1)).why == cause::not_open);
  CHECK(refusal_of(runs, low, {1, 2, -3, -4}) ==
        charge_refusal{.why = cause::negative, .axis = budget_axis::tool_calls, .who = low, .asked = -3});
  CHECK(runs.all.balance(low)->spent == spending{});
  runs.all.close(top);
  CHECK(refusal_of(runs, low, of_tools(1)).why == cause::not_open);
  CHECK(refusal_of(runs, top, of_tools(1)).why == cause::not_open);
}

TEST_CASE("the greatest charges do not overflow") {
  run_tree runs;
  const run_id open_end = runs.open({});
  constexpr spending most{unlimited, unlimited, unlimited, unlimited};
  for (int i = 0; i < 3; ++i) CHECK(runs.all.charge(open_end, most).has_value());
  CHECK(runs.all.balance(open_end)->spent.tool_calls == unlimited);
  const run_id limited = runs.root(unlimited - 1);
  CHECK(refusal_of(runs, limited, {.tokens = unlimited}).shortfall == 1);
  CHECK(runs.all.charge(limited, {.tokens = unlimited - 1}).has_value());
  CHECK(refusal_of(runs, limited, {.tokens = unlimited}).available == 0);
}

TEST_CASE("charges cross thresholds, and a balance tells the highest") {
  run_tree runs;
  const run_id top = runs.open({.limit = {.tool_calls = 20}, .tag = 1});
  const run_id low = runs.open({.parent = top, .funding = run_funding::cap, .limit = {.tool_calls = 10}, .tag = 2});
  CHECK(runs.all.balance(low)->crossed == 0);
  CHECK(runs.all.charge(low, of_tools(8)).has_value());
  CHECK(runs.crossings() == told{{2, 50}, {2, 80}});
  CHECK(runs.all.crossings().back().who == low);
  CHECK(runs.all.balance(low)->crossed == 80);
  CHECK(runs.all.balance(top)->crossed == 0);
  CHECK(runs.all.charge(low, of_tools(2)).has_value());
  CHECK(runs.crossings() == told{{2, 95}, {2, 100}, {1, 50}});
  CHECK(runs.all.crossings().back().who == top);
  CHECK(runs.all.balance(low)->crossed == 100);
  CHECK(runs.all.balance(top)->crossed == 50);
  CHECK(runs.all.extend(low, of_tools(2)).has_value());
  CHECK(runs.all.balance(low)->crossed == 80);
  CHECK(runs.all.extend(low, of_tools(100)).has_value());
  CHECK(runs.all.balance(low)->crossed == 0);
}

TEST_CASE("a charge tells where somebody is parked") {
  run_tree runs;
  const run_id top = runs.root(1'000);
  const run_id low = runs.child(top);
  runs.all.parked(top.index) = 11;
  runs.all.parked(low.index) = 12;
  CHECK(runs.all.charge(low, of_tools(1)).has_value());
  CHECK(runs.eased() == std::vector<std::uint32_t>{low.index, top.index});
}

TEST_CASE("a waiter that cannot be paid any more after a charge is turned away in the same event") {
  logged_gate gate(bare({10, 100'000}));
  CHECK(gate.open_run("root", {.limit = {.tokens = 1'000}}) == "-");
  CHECK(gate.open_run("child", {}, "root") == "-");
  CHECK(gate.arrive("a", {.tokens = 450}, interactive, {.run = "root"}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 700}, interactive, {.run = "child"}) == "-");
  CHECK(gate.arrive("c", {.tokens = 600}, interactive, {.run = "root"}) == "-");
  CHECK(gate.charge_run("root", {.tokens = 310}) == "rejected b (budget_exhausted), budget at 50 %");
  CHECK(gate.last.limit == 1'000);
  CHECK(gate.last.shortfall == 460);
  // What c waits for may still come back.
  CHECK(gate.explain("c").bound == constraint::budget_tokens);
  CHECK(gate.finish("a", usage{50, 0}) == "budget at 80 %, budget at 95 %, granted c");
  CHECK(gate.balance("root").spent == spending{360, 1, 0, 0});
}

TEST_CASE("who waited behind one that a charge has exhausted is served") {
  logged_gate gate(bare({10, 1'000}));
  CHECK(gate.open_run("root", {.limit = {.tokens = 1'000}}) == "-");
  CHECK(gate.arrive("a", {.tokens = 100}, interactive, {.run = "root"}) == "granted a");
  CHECK(gate.arrive("big", {.tokens = 950}, interactive, {.run = "root"}) == "-");
  CHECK(gate.arrive("small", {.tokens = 940}, interactive, {.run = "root"}) == "-");
  CHECK(gate.charge_run("root", {.tokens = 60}) == "rejected big (budget_exhausted)");
  CHECK(gate.finish("a", usage{0, 0}).starts_with("budget at 50 %"));
  CHECK(gate.balance("root").reserved.tokens == 940);
}

TEST_CASE("a charge that is refused changes nothing, and time does not pass") {
  logged_gate gate(bare({1, 1'000}));
  CHECK(gate.open_run("run", {.limit = {.tool_calls = 2}}) == "-");
  CHECK(gate.arrive("holds", {}) == "granted holds");
  CHECK(gate.arrive("waits", {}, interactive, {.deadline = instant{} + 1s}) == "-");
  gate.now += 2s;
  CHECK(gate.charge_run("run", of_tools(3)).find("2 of 2 tool calls left") != std::string::npos);
  CHECK(gate.balance("run").spent == spending{});
  CHECK(gate.machine.now() == instant{});
  CHECK(gate.charge_run("run", of_tools(2)) ==
        "rejected waits (deadline_in_queue), budget at 50 %, budget at 80 %, budget at 95 %, budget at 100 %");
  CHECK(gate.machine.now() == instant{} + 2s);
  CHECK(gate.charge_run("run", {}) == "-");
  CHECK(gate.close_run("run") == "-");
  CHECK(gate.charge_run("run", {}).find("is not open") != std::string::npos);
}

TEST_CASE("a policy that only observes lets charges through, and does not spend them") {
  policy rules = bare({10, 1'000});
  rules.observe = true;
  logged_gate gate(rules);
  CHECK(gate.open_run("run", {.limit = {.tool_calls = 2}}) == "-");
  CHECK(gate.charge_run("run", of_tools(3)) == "-");
  CHECK(gate.balance("run").spent == spending{});
  CHECK(gate.charge_run("run", of_tools(1)) == "budget at 50 %");
  CHECK(gate.balance("run").spent == of_tools(1));
  CHECK(gate.charge_run("run", of_tools(-1)) == "tool_calls: must not be negative, is -1");
}

TEST_CASE("a closed gate charges runs as before") {
  logged_gate gate(bare({10, 1'000}));
  CHECK(gate.open_run("run", {.limit = {.tool_calls = 5}}) == "-");
  CHECK(gate.close() == "-");
  CHECK(gate.charge_run("run", of_tools(1)) == "-");
  CHECK(gate.balance("run").spent == of_tools(1));
}

TEST_CASE("thresholds crossed without an effect are untold until the next event") {
  effects out;
  admission machine(bare({10, 1'000}));
  const run_id top = machine.open_run({.limit = {.tokens = 10}, .tag = 4}, instant{}).value();
  CHECK(!machine.thresholds_untold());
  static_cast<void>(
      machine.open_run({.parent = top, .funding = run_funding::carve, .limit = {.tokens = 5}}, instant{}).value());
  CHECK(machine.thresholds_untold());
  CHECK(machine.balance(top)->crossed == 50);
  machine.tick(instant{}, out);
  CHECK(!machine.thresholds_untold());
  REQUIRE(out.list.size() == 1);
  CHECK(out.list[0].what == effect::kind::budget_threshold);
  CHECK(out.list[0].tag == 4);
  CHECK(out.list[0].detail == 50);
  CHECK(out.list[0].run() == top);
  request asked;
  asked.cost.tokens = 4;
  asked.run = top;
  CHECK(machine.arrive_at_once(asked, instant{}));
  CHECK(machine.thresholds_untold());
}

TEST_CASE("charges are in the log, and are replayed from it") {
  std::string log;
  event_log_writer writer(log);
  admission machine(bare({10, 1'000}));
  machine.record(&writer);
  effects out;
  const run_id run = machine.open_run({.limit = {.tool_calls = 4}, .tag = 4}, instant{}).value();
  CHECK(machine.charge_run(run, of_tools(2), instant{} + 1s, out).has_value());
  CHECK(!machine.charge_run(run, of_tools(3), instant{} + 2s, out).has_value());
  writer.end();
  auto reader = event_log_reader::open(log);
  REQUIRE(reader);
  logged_event each;
  REQUIRE(*reader->next(each));
  REQUIRE(*reader->next(each));
  CHECK(name_of(each.what) == "charge_run");
  CHECK(std::get<events::charge_run>(each.what.what).id == run);
  CHECK(std::get<events::charge_run>(each.what.what).what == of_tools(2));
  CHECK(each.result.accepted);
  REQUIRE(each.effects.list.size() == 1);
  CHECK(each.effects.list[0].run() == run);
  REQUIRE(*reader->next(each));
  CHECK(!each.result.accepted);
  CHECK(!*reader->next(each));
  const auto again = replay(log);
  REQUIRE(again);
  CHECK(again->events == 3);
  CHECK(!again->difference);
}
