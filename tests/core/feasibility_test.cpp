// What cannot be done by its deadline is refused when that is known, and never when it is not.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::extras;
using sluice::core::testing::logged_gate;

namespace {

std::string numbered(const char* name, int number) { return name + std::to_string(number); }

policy judging(capacity total) {
  policy made = bare(total);
  made.feasibility = {.enabled = true, .service_share = 1, .wait_share = 0.8, .run_share = 0};
  return made;
}

/// One slot and `waiters` before it with a deadline at 1,000 s; after eight ends, one each second, the drain rate is
/// known.
logged_gate draining(int waiters, policy rules = judging({1, 1'000'000})) {
  logged_gate gate(rules);
  for (int i = 0; i < waiters + 9; ++i) {
    gate.arrive(numbered("w", i), {.tokens = 10}, interactive, {.deadline = instant{} + 1'000s});
  }
  for (int i = 0; i < 8; ++i) {
    gate.now += 1s;
    CHECK(gate.finish(numbered("w", i)) == "granted " + numbered("w", i + 1));
  }
  CHECK(gate.machine.waiting() == static_cast<std::size_t>(waiters));
  return gate;
}

/// Five pieces of work of 100 + 50 tokens that took two seconds each: the first two pass for the model's.
void teach(logged_gate& gate, duration taken) {
  for (int i = 0; i < 5; ++i) {
    const std::string name = numbered("sample", i);
    CHECK(gate.arrive(name, {.tokens = 200, .output_tokens = 100}) == "granted " + name);
    gate.now += taken;
    CHECK(gate.finish(name, usage{100, 50}) == "-");
  }
}

}  // namespace

TEST_CASE("as long as no drain rate is known, nobody is refused for it") {
  logged_gate gate(judging({1, 1'000'000}));
  for (int i = 0; i < 1'000; ++i) {
    gate.arrive(numbered("w", i), {.tokens = 10}, interactive, {.deadline = instant{} + 5s});
  }
  CHECK(gate.all().rejected_total == 0);
  CHECK(gate.machine.waiting() == 999);
}

TEST_CASE("who comes behind more than can be done before its deadline is told at once, with the estimate") {
  auto gate = draining(100);
  // The last of all: 100 before it and itself, at about one a second.
  CHECK(gate.arrive("x", {.tokens = 10}, batch, {.deadline = gate.now + 20s}) == "-");
  auto rules = judging({1, 1'000'000});
  rules[interactive].priority = 1;
  auto behind = draining(100, rules);
  CHECK(behind.arrive("x", {.tokens = 10}, batch, {.deadline = behind.now + 60s}) == "rejected x (infeasible)");
  CHECK(behind.last.ahead == 100);
  CHECK(behind.last.bound == constraint::pool_slots);
  CHECK(behind.last.waited == 0s);
  const double estimate = std::chrono::duration<double>(behind.last.could_start - behind.now).count();
  CHECK(estimate == doctest::Approx(101 * 0.966).epsilon(0.01));
  CHECK(behind.of(batch).infeasible_total == 1);
  // Four fifths of the estimate are less than 90 s: it is given the benefit.
  CHECK(behind.arrive("y", {.tokens = 10}, batch, {.deadline = behind.now + 90s}) == "-");
}

TEST_CASE("who goes before the others is not refused for their number") {
  auto gate = draining(100);
  CHECK(gate.arrive("urgent", {.tokens = 10}, interactive, {.deadline = gate.now + 2s}) == "-");
  CHECK(gate.finish("w8") == "granted urgent");
}

TEST_CASE("without a deadline, or with it switched off, nobody is refused") {
  auto rules = judging({1, 1'000'000});
  rules[interactive].priority = 1;
  auto gate = draining(100, rules);
  CHECK(gate.arrive("no deadline", {.tokens = 10}, batch) == "-");
  rules.feasibility.enabled = false;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "-");
  CHECK(gate.arrive("x", {.tokens = 10}, batch, {.deadline = gate.now + 10s}) == "-");
}

TEST_CASE(
    "what takes longer than there is time is refused although there is room, once it is known how long it takes") {
  logged_gate gate(judging({4, 100'000}));
  CHECK(gate.arrive("unknown", {.tokens = 200, .output_tokens = 100}, interactive, {.deadline = gate.now + 1s}) ==
        "granted unknown");
  CHECK(gate.finish("unknown") == "-");
  teach(gate, 2s);
  CHECK(gate.arrive("late", {.tokens = 200, .output_tokens = 100}, interactive, {.deadline = gate.now + 1s}) ==
        "rejected late (infeasible)");
  CHECK(gate.last.bound == constraint::deadline);
  CHECK(gate.last.could_start == gate.now);
  CHECK(gate.last.expected_service > 1'500ms);
  CHECK(gate.last.expected_service < 2'500ms);
  CHECK_FALSE(gate.machine.arrive_at_once({.cost = {.tokens = 200, .output_tokens = 100}, .deadline = gate.now + 1s},
                                          gate.now));
  CHECK(gate.arrive("in time", {.tokens = 200, .output_tokens = 100}, interactive, {.deadline = gate.now + 3s}) ==
        "granted in time");
  // Held to the queue alone, it may try.
  auto rules = judging({4, 100'000});
  rules.feasibility.service_share = 0;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "-");
  CHECK(gate.arrive("try", {.tokens = 200, .output_tokens = 100}, interactive, {.deadline = gate.now + 1s}) ==
        "granted try");
}

TEST_CASE("a waiter whose time runs out in the queue goes when its turn comes, not after it has begun") {
  logged_gate gate(judging({1, 100'000}));
  teach(gate, 2s);
  CHECK(gate.arrive("a", {.tokens = 200, .output_tokens = 100}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 200, .output_tokens = 100}, interactive, {.deadline = gate.now + 5s}) == "-");
  CHECK(gate.arrive("c", {.tokens = 10}) == "-");
  gate.now += 4s;
  // One second is left of which it would need two.
  CHECK(gate.finish("a", usage{100, 50}) == "rejected b (infeasible), granted c");
  CHECK(gate.last.bound == constraint::deadline);
  CHECK(gate.last.waited == 4s);
}

TEST_CASE("too few completions say nothing, and nobody is refused for what they took") {
  logged_gate gate(judging({1, 100'000}));
  for (int i = 0; i < 4; ++i) {
    const std::string name = numbered("sample", i);
    CHECK(gate.arrive(name, {.tokens = 200, .output_tokens = 100}) == "granted " + name);
    gate.now += 2s;
    CHECK(gate.finish(name, usage{100, 50}) == "-");
  }
  constexpr cost alike{.tokens = 200, .output_tokens = 100};
  CHECK(gate.arrive("a", alike, interactive, {.deadline = gate.now + 1s}) == "granted a");
  CHECK(gate.explain("a").expected_service < 0s);
  CHECK(gate.arrive("b", alike, interactive, {.deadline = gate.now + 1s}) == "-");
  gate.now += 1s - 1ns;
  CHECK(gate.finish("a") == "granted b");
}

TEST_CASE("when the adaptive limit falls, who can no longer be done by its deadline is told at once") {
  auto rules = judging({10, 1'000'000});
  rules.adaptive = {.enabled = true, .backoff = 0.5};
  logged_gate gate(rules);
  for (int i = 0; i < 19; ++i) {
    gate.arrive(numbered("w", i), {.tokens = 10}, interactive, {.deadline = instant{} + 1'000s});
  }
  for (int i = 0; i < 8; ++i) {
    gate.now += 1s;
    CHECK(gate.finish(numbered("w", i)) == "granted " + numbered("w", i + 10));
  }
  // The first of all, and a slot comes free each second. Of a limit of five, five must end before.
  CHECK(gate.arrive("x", {.tokens = 10}, interactive, {.deadline = gate.now + 4s}) == "-");
  CHECK(gate.arrive("y", {.tokens = 10}, interactive, {.deadline = gate.now + 6s}) == "-");
  CHECK(gate.signal(provider_signal::overloaded) == "rejected x (infeasible)");
  CHECK(gate.machine.statistics().adaptive_limit == 5);
}

TEST_CASE("when the adaptive limit falls, who begins to wait because another one goes is looked at as well") {
  auto rules = judging({10, 1'000'000});
  rules.adaptive = {.enabled = true, .backoff = 0.5};
  logged_gate gate(rules);
  for (int i = 0; i < 19; ++i) {
    gate.arrive(numbered("w", i), {.tokens = 10}, interactive, {.deadline = instant{} + 1'000s});
  }
  for (int i = 0; i < 8; ++i) {
    gate.now += 1s;
    CHECK(gate.finish(numbered("w", i)) == "granted " + numbered("w", i + 10));
  }
  CHECK(gate.open_run("run", {.limit = {.tokens = 15}}) == "-");
  CHECK(gate.arrive("x", {.tokens = 10}, interactive, {.deadline = gate.now + 4s, .run = "run"}) == "budget at 50 %");
  // They wait for the run to be able to pay: how much is before them does not matter until it is.
  for (const char* name : {"y", "z"})
    CHECK(gate.arrive(name, {.tokens = 10}, interactive, {.deadline = gate.now + 4s, .run = "run"}) == "-");
  CHECK(gate.signal(provider_signal::overloaded) ==
        "rejected x (infeasible), rejected y (infeasible), rejected z (infeasible)");
  CHECK(gate.balance("run").reserved.tokens == 0);
}

TEST_CASE("who waits for its tenant's rate has as much before it as anybody") {
  const tenant acme("acme");
  for (const tenant& who : {tenant{}, acme}) {
    CAPTURE(who.key());
    auto rules = judging({1, 1'000'000});
    rules[interactive].priority = 1;
    rules.tenants.emplace_back("acme").rates.requests = {60, 1};
    auto gate = draining(2, rules);
    CHECK(gate.arrive("a", {.tokens = 10}, interactive, {.tenant = acme}) == "-");
    gate.now += 1s;
    CHECK(gate.finish("w8") == "granted a");
    // Two before it and itself, at one a second, of which four fifths are counted.
    for (const auto& [name, given] : {std::pair("x", 2'300ms), std::pair("y", 2'500ms)}) {
      const extras asks{.deadline = gate.now + given, .tenant = who};
      const std::string told = name == std::string("x") ? "rejected x (infeasible)" : "-";
      CHECK(gate.would({.tokens = 10}, batch, asks).starts_with("waits") == (told == "-"));
      CHECK(gate.arrive(name, {.tokens = 10}, batch, asks) == told);
    }
  }
}

TEST_CASE("what begins to wait because another one was too late is itself looked at before it may start") {
  for (const workload first : {interactive, batch}) {
    CAPTURE(first.index());
    const workload second = first == interactive ? batch : interactive;
    auto rules = judging({1, 1'000'000});
    rules.feasibility.wait_share = 0.01;
    logged_gate gate(rules);
    teach(gate, 2s);
    CHECK(gate.open_run("run", {.limit = {.tokens = 250}}) == "-");
    CHECK(gate.arrive("holds", {}) == "granted holds");
    const cost whole{.tokens = 200, .output_tokens = 100};
    CHECK(gate.arrive("late", whole, first, {.deadline = gate.now + 3s, .run = "run"}) ==
          "budget at 50 %, budget at 80 %");
    CHECK(gate.arrive("late too", whole, second, {.deadline = gate.now + 3s, .run = "run"}) == "-");
    CHECK(gate.arrive("in time", whole, second, {.deadline = gate.now + 30s, .run = "run"}) == "-");
    gate.now += 1500ms;
    // One after the other: each gives back what the next could pay with.
    CHECK(gate.finish("holds") == "rejected late (infeasible), rejected late too (infeasible), granted in time");
  }
}
