// Runs: who pays, who waits to be able to, and whose turn it is, as logs.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

run_options tokens(std::int64_t limit) { return {.limit = {.tokens = limit}}; }

}  // namespace

TEST_CASE("a run pays in advance, gets back what was not used, and whoever it cannot pay for now waits for that") {
  logged_gate gate(bare({10, 100'000}));
  CHECK(gate.open_run("root", tokens(1'000)) == "-");
  CHECK(gate.arrive("a", {.tokens = 400}, interactive, {.run = "root"}) == "granted a");
  CHECK(gate.balance("root").reserved.tokens == 400);
  CHECK(gate.arrive("b", {.tokens = 700}, interactive, {.run = "root"}) == "-");
  const decision why = gate.explain("b");
  CHECK(why.bound == constraint::budget_tokens);
  CHECK(why.limit == 1'000);
  CHECK(why.available == 600);
  CHECK(why.shortfall == 100);
  // It takes nothing from others that wait or come.
  CHECK(gate.arrive("other", {.tokens = 700}) == "granted other");
  CHECK(gate.finish("a", usage{300, 0}) ==
        "budget at 50 %, budget at 80 %, budget at 95 %, budget at 100 %, granted b");
  CHECK(gate.balance("root").spent == spending{300, 1, 0, 0});
  CHECK(gate.balance("root").reserved.tokens == 700);
  CHECK(gate.balance("root").remaining.tokens == 0);
}

TEST_CASE("when what was used is known to be too much, whoever waits for it is told") {
  logged_gate gate(bare({10, 100'000}));
  CHECK(gate.open_run("root", tokens(1'000)) == "-");
  CHECK(gate.arrive("a", {.tokens = 400}, interactive, {.run = "root"}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 700}, interactive, {.run = "root"}) == "-");
  CHECK(gate.finish("a", usage{350, 0}) == "rejected b (budget_exhausted)");
  CHECK(gate.last.limit == 1'000);
  CHECK(gate.last.available == 650);
  CHECK(gate.last.shortfall == 50);
  CHECK(gate.all().unaffordable_total == 1);
  CHECK(gate.arrive("c", {.tokens = 651}, interactive, {.run = "root"}) == "rejected c (budget_exhausted)");
  // The shortfall really was what was missing.
  CHECK(gate.extend_run("root", {.tokens = 50}) == "-");
  CHECK(gate.arrive("d", {.tokens = 700}, interactive, {.run = "root"}).starts_with("granted d"));
}

TEST_CASE("an extension serves whoever waits for it") {
  logged_gate gate(bare({10, 100'000}));
  CHECK(gate.open_run("root", tokens(1'000)) == "-");
  CHECK(gate.arrive("a", {.tokens = 400}, interactive, {.run = "root"}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 700}, interactive, {.run = "root"}) == "-");
  CHECK(gate.extend_run("root", {.tokens = 99}) == "-");
  CHECK(gate.extend_run("root", {.tokens = 1}).find("granted b") != std::string::npos);
}

TEST_CASE("every ancestor pays, and the one that cannot is the one that is told") {
  logged_gate gate(bare({10, 100'000}));
  CHECK(gate.open_run("root", tokens(1'000)) == "-");
  CHECK(gate.open_run("child", {.funding = run_funding::cap, .limit = {.tokens = 800}}, "root") == "-");
  CHECK(gate.open_run("grandchild", {.funding = run_funding::share}, "child") == "-");
  CHECK(gate.arrive("a", {.tokens = 300}, interactive, {.run = "grandchild"}) == "granted a");
  for (const char* run : {"root", "child", "grandchild"}) CHECK(gate.balance(run).reserved.tokens == 300);
  CHECK(gate.arrive("too much for the child", {.tokens = 801}, interactive, {.run = "grandchild"}) ==
        "rejected too much for the child (budget_exhausted)");
  CHECK(gate.last.limit == 800);
  CHECK(gate.finish("a", usage{100, 50}) == "-");
  for (const char* run : {"root", "child", "grandchild"}) {
    CHECK(gate.balance(run).reserved.tokens == 0);
    CHECK(gate.balance(run).spent.tokens == 150);
  }
}

TEST_CASE("a carved child has its own, and gives back what is left when it closes") {
  logged_gate gate(bare({10, 100'000}));
  CHECK(gate.open_run("root", tokens(1'000)) == "-");
  CHECK(gate.open_run("child", {.funding = run_funding::carve, .limit = {.tokens = 600}}, "root") == "-");
  CHECK(gate.balance("root").remaining.tokens == 400);
  CHECK(gate.open_run("second", {.funding = run_funding::carve, .limit = {.tokens = 500}}, "root").find("400") !=
        std::string::npos);
  // What is set aside for the child is more than half of the root's.
  CHECK(gate.arrive("a", {.tokens = 200}, interactive, {.run = "child"}) == "budget at 50 %, granted a");
  CHECK(gate.finish("a", usage{200, 0}).find("granted") == std::string::npos);
  CHECK(gate.arrive("b", {.tokens = 700}, interactive, {.run = "root"}) == "-");
  CHECK(gate.close_run("child").find("granted b") != std::string::npos);
  CHECK(gate.balance("root").remaining.tokens == 100);
  CHECK(gate.close_run("child") == "not open");
}

TEST_CASE("the finalise reserve is for the last answer alone") {
  logged_gate gate(bare({10, 100'000}));
  CHECK(gate.open_run("root", {.limit = {.tokens = 1'000}, .finalise_reserve = {.tokens = 200}}) == "-");
  CHECK(gate.balance("root").remaining.tokens == 800);
  CHECK(gate.arrive("a", {.tokens = 800}, interactive, {.run = "root"}).starts_with("granted a"));
  gate.finish("a", usage{800, 0});
  CHECK(gate.arrive("b", {.tokens = 1}, interactive, {.run = "root"}) == "rejected b (budget_exhausted)");
  CHECK(gate.arrive("last", {.tokens = 200}, interactive, {.run = "root", .finalising = true})
            .starts_with("granted last"));
}

TEST_CASE("calls and money: each attempt is a call, and prices are the policy's") {
  auto rules = bare({10, 100'000});
  model_price price("large");
  price.input_per_million = 3'000'000;
  price.output_per_million = 15'000'000;
  rules.prices = {price};
  logged_gate gate(rules);
  CHECK(gate.open_run("calls", {.limit = {.calls = 2}}) == "-");
  CHECK(gate.arrive("a", {}, interactive, {.run = "calls"}) == "granted a, budget at 50 %");
  CHECK(gate.arrive("b", {}, interactive, {.run = "calls"}).starts_with("granted b"));
  CHECK(gate.arrive("c", {}, interactive, {.run = "calls"}) == "-");
  CHECK(gate.explain("c").bound == constraint::budget_calls);
  // One that was never sent would give its call back, so c waits for b as well.
  CHECK(gate.finish("a") == "-");
  CHECK(gate.finish("b") == "rejected c (budget_exhausted)");

  // 100 input at 3 each and 20 output at 15 each are 600.
  CHECK(gate.open_run("money", {.limit = {.money = 1'000}}) == "-");
  const cost asked{.tokens = 120, .output_tokens = 20};
  CHECK(gate.arrive("d", asked, interactive, {.run = "money", .model = model("large")}) == "granted d, budget at 50 %");
  CHECK(gate.balance("money").reserved == spending{120, 1, 0, 600});
  CHECK(gate.arrive("e", asked, interactive, {.run = "money", .model = model("large")}) == "-");
  CHECK(gate.explain("e").bound == constraint::budget_money);
  CHECK(gate.explain("e").shortfall == 200);
  // A model without a price is free.
  CHECK(gate.arrive("f", asked, interactive, {.run = "money", .model = model("small")}) == "granted f");
  // Only 10 of the output came: 450 were spent, and 550 are not enough for 600.
  CHECK(gate.finish("d", usage{100, 10}) == "rejected e (budget_exhausted)");
  CHECK(gate.balance("money").spent.money == 450);
}

TEST_CASE("a run that goes on is served before fresh work; then the age of the root run counts") {
  logged_gate gate(bare({1, 100'000}));
  CHECK(gate.open_run("old", {}) == "-");
  CHECK(gate.open_run("young", {}) == "-");
  CHECK(gate.open_run("begun", {}) == "-");
  CHECK(gate.arrive("first", {}, interactive, {.run = "begun"}) == "granted first");
  CHECK(gate.arrive("fresh", {}) == "-");
  CHECK(gate.arrive("of the young", {}, interactive, {.run = "young"}) == "-");
  CHECK(gate.arrive("of the old", {}, interactive, {.run = "old"}) == "-");
  // Runs were opened before the others came: they are older than what came since.
  CHECK(gate.finish("first") == "granted of the old");
  CHECK(gate.arrive("going on", {}, interactive, {.run = "begun"}) == "-");
  CHECK(gate.finish("of the old") == "granted going on");
  CHECK(gate.finish("going on") == "granted of the young");
  CHECK(gate.finish("of the young") == "granted fresh");
}

TEST_CASE("a deadline counts before the age of the run, but not before what has begun") {
  logged_gate gate(bare({1, 100'000}));
  CHECK(gate.open_run("old", {}) == "-");
  CHECK(gate.open_run("begun", {}) == "-");
  CHECK(gate.arrive("first", {}, interactive, {.run = "begun"}) == "granted first");
  CHECK(gate.arrive("old", {}, interactive, {.run = "old"}) == "-");
  CHECK(gate.arrive("urgent", {}, interactive, {.deadline = instant{} + 9s}) == "-");
  CHECK(gate.arrive("more urgent", {}, interactive, {.deadline = instant{} + 8s}) == "-");
  CHECK(gate.finish("first") == "granted more urgent");
  CHECK(gate.arrive("going on", {}, interactive, {.run = "begun"}) == "-");
  CHECK(gate.finish("more urgent") == "granted going on");
  CHECK(gate.finish("going on") == "granted urgent");
  CHECK(gate.finish("urgent") == "granted old");
}

TEST_CASE("a nested call within an admitted run draws from the same budget once, and does not wait for itself") {
  logged_gate gate(bare({2, 100'000}));
  CHECK(gate.open_run("root", tokens(1'000)) == "-");
  CHECK(gate.open_run("tool", {}, "root") == "-");
  CHECK(gate.arrive("outer", {.tokens = 400}, interactive, {.run = "root"}) == "granted outer");
  CHECK(gate.arrive("inner", {.tokens = 400}, interactive, {.run = "tool"}) ==
        "granted inner, budget at 50 %, budget at 80 %");
  CHECK(gate.balance("root").reserved.tokens == 800);
  CHECK(gate.balance("tool").reserved.tokens == 400);
  gate.finish("inner", usage{400, 0});
  gate.finish("outer", usage{100, 0});
  CHECK(gate.balance("root").spent == spending{500, 2, 0, 0});
  CHECK(gate.balance("root").reserved == spending{});
}

TEST_CASE("closing a run tells those of it that wait, and only those; nothing more may be charged to it") {
  logged_gate gate(bare({1, 100'000}));
  CHECK(gate.open_run("root", {}) == "-");
  CHECK(gate.open_run("child", {}, "root") == "-");
  CHECK(gate.arrive("running", {.tokens = 10}, interactive, {.run = "child"}) == "granted running");
  CHECK(gate.arrive("w", {}, interactive, {.run = "child"}) == "-");
  CHECK(gate.arrive("other", {}) == "-");
  CHECK(gate.close_run("child") == "stop running, rejected w (unknown_run)");
  CHECK(gate.arrive("late", {}, interactive, {.run = "child"}) == "rejected late (unknown_run)");
  CHECK(gate.finish("running", usage{7, 0}) == "granted other");
  CHECK(gate.balance("root").spent.tokens == 7);
}

TEST_CASE("who is turned away or cancels gives back what was set aside") {
  logged_gate gate(bare({1, 100'000}));
  CHECK(gate.open_run("root", tokens(1'000)) == "-");
  CHECK(gate.arrive("running", {}) == "granted running");
  CHECK(gate.arrive("a", {.tokens = 400}, interactive, {.run = "root"}) == "-");
  CHECK(gate.balance("root").reserved.tokens == 400);
  CHECK(gate.cancel("a") == "-");
  CHECK(gate.balance("root").reserved == spending{});
  CHECK(gate.arrive("b", {.tokens = 400}, interactive, {.may_wait = false, .run = "root"}) == "rejected b (no_room)");
  CHECK(gate.balance("root").reserved == spending{});
  CHECK(gate.arrive("c", {.tokens = 400}, interactive, {.deadline = instant{} + 1s, .run = "root"}) == "-");
  gate.now += 1s;
  CHECK(gate.tick() == "rejected c (deadline_in_queue)");
  CHECK(gate.balance("root").reserved == spending{});
  CHECK(gate.balance("root").spent == spending{});
}
