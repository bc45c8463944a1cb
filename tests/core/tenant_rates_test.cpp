// A tenant that waits for its own rate stands aside, and comes back as soon as its next one may start.
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

/// 60 input tokens a minute, 100 at once.
policy metered(capacity total) {
  policy made = bare(total);
  made.tenants.emplace_back("acme");
  made.tenants.back().rates.input_tokens = {60, 100};
  return made;
}

}  // namespace

TEST_CASE("another one may join a tenant that waits for its rate while every slot is taken") {
  logged_gate gate(metered({2, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 100}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 10}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.arrive("other", {.tokens = 10}) == "granted other");
  CHECK(gate.arrive("c", {.tokens = 10}, interactive, {.tenant = acme}) == "-");
  gate.now += 10s;
  CHECK(gate.tick() == "-");
  CHECK(gate.finish("other") == "granted b");
}

TEST_CASE("what a tenant did not use lets its next one start at once") {
  logged_gate gate(metered({2, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 100}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 50}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.wake == instant{} + 50s);
  CHECK(gate.finish("a", usage{20, 0}) == "granted b");
}

TEST_CASE("when the one that waits for the rate goes, the one behind it does not wait in its place") {
  logged_gate gate(metered({3, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 90}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("large", {.tokens = 80}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.arrive("small", {.tokens = 10}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.cancel("large") == "granted small");
}

TEST_CASE("one that comes before the one that waits for the rate does not wait in its place") {
  logged_gate gate(metered({3, 1'000}));
  CHECK(gate.arrive("a", {.tokens = 90}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("large", {.tokens = 80}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.arrive("urgent", {.tokens = 10}, interactive, {.deadline = instant{} + 1s, .tenant = acme}) ==
        "granted urgent");
}

TEST_CASE("when one that has waited for long goes, those of its tenant that waited behind it for the rate may start") {
  auto rules = metered({2, 1'000});
  rules[interactive].start_within = 1s;
  rules.overload.age_cap = 2s;
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 90}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.arrive("holds", {}) == "granted holds");
  CHECK(gate.arrive("large", {.tokens = 80}, interactive, {.tenant = acme}) == "-");
  gate.now += 1500ms;
  CHECK(gate.arrive("small", {.tokens = 10}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.tick() == "-");
  // From now on it goes by its place.
  gate.now += 1500ms;
  CHECK(gate.tick() == "-");
  CHECK(gate.finish("holds") == "-");
  CHECK(gate.cancel("large") == "granted small");
}

TEST_CASE("what begins to wait because another one goes is held to its tenant's rate before it may start") {
  for (const workload first : {interactive, batch}) {
    CAPTURE(first.index());
    const workload second = first == interactive ? batch : interactive;
    auto rules = metered({2, 1'000});
    rules.feasibility = {.enabled = true, .service_share = 1, .wait_share = 0.01, .run_share = 0};
    logged_gate gate(rules);
    // Work takes two seconds.
    for (int i = 0; i < 5; ++i) {
      const std::string name = "sample" + std::to_string(i);
      CHECK(gate.arrive(name, {.tokens = 200, .output_tokens = 100}, first) == "granted " + name);
      gate.now += 2s;
      CHECK(gate.finish(name, usage{100, 50}) == "-");
    }
    CHECK(gate.open_run("run", {.limit = {.tokens = 250}}) == "-");
    CHECK(gate.arrive("a", {.tokens = 100}, second, {.tenant = acme}) == "granted a");
    CHECK(gate.arrive("holds", {}) == "granted holds");
    CHECK(gate.arrive("late", {.tokens = 200, .output_tokens = 100}, first,
                      {.deadline = gate.now + 3s, .run = "run"}) == "budget at 50 %, budget at 80 %");
    const instant empty = gate.now;
    CHECK(gate.arrive("b", {.tokens = 80}, second, {.tenant = acme, .run = "run"}) == "-");
    gate.now += 1500ms;
    // The run could pay for it now; its tenant has sent all that it may.
    CHECK(gate.finish("holds") == "rejected late (infeasible)");
    CHECK(gate.explain("b").bound == constraint::tenant_input);
    gate.now = gate.wake;
    CHECK(gate.tick() == "-");
    CHECK(gate.wake == empty + 80s);
    gate.now = gate.wake;
    CHECK(gate.tick() == "granted b");
  }
}
