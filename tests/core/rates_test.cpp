// Rates of the provider and of tenants, as logs: who waits for what, when it starts, and what comes back.
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

constexpr tenant acme("acme");
constexpr tenant blue("blue");

}  // namespace

TEST_CASE("a waiter starts at the very nanosecond at which all its axes let it through") {
  auto rules = bare({100, 100'000});
  // One request a second; 600 input tokens a minute are ten a second.
  rules.rates = {.requests = {60, 5}, .input_tokens = {600, 100}};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 100}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 35}) == "-");
  CHECK(gate.wake == instant{} + 3'500ms);
  const decision why = gate.explain("b");
  CHECK(why.bound == constraint::provider_input);
  CHECK(why.limit == 100);
  CHECK(why.available == 0);
  CHECK(why.shortfall == 35);
  CHECK(why.could_start == instant{} + 3'500ms);
  gate.now = instant{} + 3'500ms - 1ns;
  CHECK(gate.tick() == "-");
  CHECK(gate.wake == instant{} + 3'500ms);
  gate.now += 1ns;
  CHECK(gate.tick() == "granted b");
}

TEST_CASE("a tenant that waits for its own rate holds nobody else up") {
  auto rules = bare({100, 100'000});
  rules.other_tenants.rates.requests = {60, 1};
  logged_gate gate(rules);
  CHECK(gate.arrive("a0", {}, interactive, {.tenant = acme}) == "granted a0");
  CHECK(gate.arrive("a1", {}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.explain("a1").bound == constraint::tenant_requests);
  CHECK(gate.explain("a1").could_start == instant{} + 1s);
  CHECK(gate.wake == instant{} + 1s);
  CHECK(gate.arrive("b0", {}, interactive, {.tenant = blue}) == "granted b0");
  CHECK(gate.arrive("nobody", {}) == "granted nobody");
  CHECK(gate.arrive("try", {}, interactive, {.may_wait = false, .tenant = blue}) == "rejected try (rate_limited)");
  CHECK(gate.last.bound == constraint::tenant_requests);
  CHECK(gate.last.tenant == blue);
  gate.now = instant{} + 1s;
  CHECK(gate.tick() == "granted a1");
}

TEST_CASE("what waits for its tenant's rate keeps no capacity from others") {
  // Interactive is below its floor and has work waiting, but that work may not be sent yet.
  auto rules = bare({2, 100});
  rules[interactive].floor = {2, 100};
  rules[interactive].priority = 1;
  rules.tenants.emplace_back("acme").rates.requests = {60, 1};
  logged_gate gate(rules);
  CHECK(gate.arrive("a0", {}, interactive, {.tenant = acme}) == "granted a0");
  CHECK(gate.finish("a0") == "-");
  CHECK(gate.arrive("a1", {}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.arrive("b0", {}, batch) == "granted b0");
  CHECK(gate.arrive("b1", {}, batch) == "granted b1");
  gate.now = instant{} + 1s;
  CHECK(gate.tick() == "-");
  CHECK(gate.explain("a1").bound == constraint::pool_slots);
  CHECK(gate.arrive("b2", {}, batch) == "-");
  CHECK(gate.finish("b0") == "granted a1");
}

TEST_CASE("what was reserved and not used comes back to the rates at once, what was overrun is owed") {
  auto rules = bare({100, 100'000});
  rules.rates.output_tokens = {600, 100};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 110, .output_tokens = 100}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 70, .output_tokens = 70}) == "-");
  CHECK(gate.wake == instant{} + 7s);
  // Thirty were used: seventy are there again.
  CHECK(gate.finish("a", usage{10, 30}) == "granted b");
  // All was used and twenty more: nothing before two seconds have passed, and then one token each tenth.
  CHECK(gate.finish("b", usage{0, 90}) == "-");
  CHECK(gate.arrive("c", {.tokens = 1, .output_tokens = 1}) == "-");
  CHECK(gate.explain("c").available == 0);
  CHECK(gate.explain("c").could_start == instant{} + 2'100ms);
  gate.now = instant{} + 2'100ms;
  CHECK(gate.tick() == "granted c");
}

TEST_CASE("a deadline that comes before the rate lets it through") {
  auto rules = bare({100, 100'000});
  rules.rates.requests = {1, 1};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}, interactive, {.deadline = instant{} + 10s}) == "-");
  CHECK(gate.wake == instant{} + 10s);
  gate.now = instant{} + 10s;
  CHECK(gate.tick() == "rejected b (deadline_in_queue)");
  CHECK(gate.last.bound == constraint::provider_requests);
  CHECK(gate.last.could_start == instant{} + 60s);
}

TEST_CASE("a pause of the provider stops all starts until it ends; a shorter one changes nothing") {
  logged_gate gate(bare({4, 1'000}));
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.pause(instant{} + 5s) == "-");
  CHECK(gate.pause(instant{} + 2s) == "-");
  CHECK(gate.arrive("b", {}) == "-");
  CHECK(gate.wake == instant{} + 5s);
  CHECK(gate.explain("b").bound == constraint::provider_pause);
  CHECK(gate.explain("b").could_start == instant{} + 5s);
  CHECK(gate.arrive("try", {}, interactive, {.may_wait = false}) == "rejected try (rate_limited)");
  CHECK_FALSE(gate.machine.arrive_at_once({}, gate.now));
  CHECK(gate.finish("a") == "-");
  gate.now = instant{} + 5s - 1ns;
  CHECK(gate.tick() == "-");
  gate.now = instant{} + 5s;
  CHECK(gate.tick() == "granted b");
  // The gate opens again little by little.
  CHECK(gate.arrive("c", {}) == "-");
  CHECK(gate.explain("c").bound == constraint::reopening);
}

TEST_CASE("a rate that is lifted, raised or lowered by a new revision holds for what waits already") {
  auto rules = bare({100, 100'000});
  rules.tenants.emplace_back("acme").rates.requests = {1, 1};
  logged_gate gate(rules);
  CHECK(gate.arrive("a0", {}, interactive, {.tenant = acme}) == "granted a0");
  CHECK(gate.arrive("a1", {}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.wake == instant{} + 60s);
  rules.tenants[0].rates.requests = {60, 1};
  rules.revision = 2;
  // One request is owed as before, and drains in a second now.
  CHECK(gate.reconfigure(rules) == "-");
  gate.now = instant{} + 1s;
  CHECK(gate.tick() == "granted a1");
  CHECK(gate.arrive("a2", {}, interactive, {.tenant = acme}) == "-");
  rules.tenants.clear();
  rules.revision = 3;
  CHECK(gate.reconfigure(rules) == "granted a2");
}

TEST_CASE("whoever waits for the provider's rate is passed only by what the same rate lets through") {
  // The head asks for 100 input tokens of which 40 are there; work that asks for 30 may pass it, within the bounds.
  auto rules = bare({100, 100'000});
  rules.rates.input_tokens = {600, 100};
  rules.bypass = {.passes = 1, .patience = 1h};
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 60}) == "granted a");
  CHECK(gate.arrive("big", {.tokens = 100}) == "-");
  CHECK(gate.wake == instant{} + 6s);
  CHECK(gate.arrive("s0", {.tokens = 30}) == "granted s0");
  CHECK(gate.arrive("s1", {.tokens = 5}) == "-");
  // 90 are owed, at ten a second.
  CHECK(gate.explain("big").could_start == instant{} + 9s);
  gate.now = instant{} + 9s;
  CHECK(gate.tick() == "granted big");
}

TEST_CASE("a pause that has ended already lifts one in force") {
  logged_gate gate(bare({2, 100}));
  effects out;
  gate.machine.pause(instant{} + 1h, gate.now, out);
  CHECK(gate.arrive("a", {.tokens = 10}) == "-");
  gate.now += 1s;
  // A shorter one does not.
  gate.machine.pause(gate.now + 1s, gate.now, out);
  CHECK(gate.machine.waiting() == 1);
  gate.machine.pause(gate.now, gate.now, out);
  CHECK(gate.machine.waiting() == 0);
  CHECK(gate.machine.in_flight() == 1);
}
