// A head that waits for room, and who may pass it: how often, for how long, and in which resources.
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

std::string numbered(const char* name, int number) { return name + std::to_string(number); }

/// 1,000 tokens, 200 of them held by `holder`.
logged_gate held(bypass_policy bypass, policy rules = bare({100, 1'000})) {
  rules.bypass = bypass;
  logged_gate gate(rules);
  CHECK(gate.arrive("holder", {.tokens = 200}) == "granted holder");
  return gate;
}

}  // namespace

TEST_CASE("a big head is passed so often and no more, and then starts as soon as there is room") {
  auto gate = held({.passes = 64, .patience = 1h});
  CHECK(gate.arrive("big", {.tokens = 900}) == "-");
  CHECK(gate.explain("big").bound == constraint::pool_tokens);
  // A stream of small work that always fits beside it.
  for (int i = 0; i < 64; ++i) {
    CHECK(gate.arrive(numbered("s", i), {.tokens = 100}) == "granted " + numbered("s", i));
    if (i >= 4) CHECK(gate.finish(numbered("s", i - 4)) == "-");
  }
  CHECK(gate.arrive("one more", {.tokens = 100}) == "-");
  CHECK(gate.explain("one more").bound == constraint::order);
  for (int i = 60; i < 64; ++i) CHECK(gate.finish(numbered("s", i)) == "-");
  CHECK(gate.finish("holder") == "granted big, granted one more");
}

TEST_CASE("a head is passed only for so long") {
  auto gate = held({.passes = 64, .patience = 30s});
  CHECK(gate.arrive("big", {.tokens = 900}) == "-");
  gate.now = instant{} + 30s - 1ns;
  CHECK(gate.arrive("s0", {.tokens = 100}) == "granted s0");
  gate.now = instant{} + 30s;
  CHECK(gate.arrive("s1", {.tokens = 100}) == "-");
  // The next head begins anew.
  CHECK(gate.finish("s0") == "-");
  CHECK(gate.finish("holder") == "granted big, granted s1");
}

TEST_CASE("less long when it is known how long the head itself will run") {
  auto rules = bare({100, 1'000});
  rules.feasibility.enabled = true;
  auto gate = held({.passes = 64, .patience = 30s}, rules);
  // Five samples of two seconds.
  for (int i = 0; i < 5; ++i) {
    const std::string name = numbered("sample", i);
    CHECK(gate.arrive(name, {.tokens = 200, .output_tokens = 100}) == "granted " + name);
    gate.now += 2s;
    CHECK(gate.finish(name, usage{100, 50}) == "-");
  }
  const instant since = gate.now;
  CHECK(gate.arrive("big", {.tokens = 900, .output_tokens = 100}) == "-");
  gate.now = since + 1'900ms;
  CHECK(gate.arrive("s0", {.tokens = 100}) == "granted s0");
  gate.now = since + 2'100ms;
  CHECK(gate.arrive("s1", {.tokens = 100}) == "-");
}

TEST_CASE("without bypass nobody passes") {
  auto gate = held({.passes = 0});
  CHECK(gate.arrive("big", {.tokens = 900}) == "-");
  CHECK(gate.arrive("small", {.tokens = 1}) == "-");
}

TEST_CASE("a head that lacks slots is passed by what asks for fewer, though it asks for as many tokens") {
  auto rules = bare({4, 1'000});
  auto gate = held({.passes = 8, .patience = 1h}, rules);
  CHECK(gate.arrive("other", {.tokens = 100, .slots = 2}) == "granted other");
  CHECK(gate.arrive("wide", {.tokens = 100, .slots = 2}) == "-");
  CHECK(gate.explain("wide").bound == constraint::pool_slots);
  CHECK(gate.arrive("narrow", {.tokens = 100, .slots = 1}) == "granted narrow");
  CHECK(gate.finish("narrow") == "-");
  CHECK(gate.finish("holder") == "granted wide");
}

TEST_CASE("work of another class passes under the same bound") {
  auto rules = bare({100, 1'000});
  rules[interactive].priority = 1;
  auto gate = held({.passes = 2, .patience = 1h}, rules);
  CHECK(gate.arrive("big", {.tokens = 900}) == "-");
  CHECK(gate.arrive("b0", {.tokens = 10}, batch) == "granted b0");
  CHECK(gate.arrive("i0", {.tokens = 10}) == "granted i0");
  CHECK(gate.arrive("b1", {.tokens = 10}, batch) == "-");
  CHECK(gate.arrive("i1", {.tokens = 10}) == "-");
}

TEST_CASE("what passes takes nothing that is kept for others") {
  // Batch lacks 100 of its 900 tokens; of the 800 that are free all but ten belong to its floor.
  auto rules = bare({100, 1'000});
  rules[batch].priority = 1;
  rules[batch].floor = {2, 790};
  auto gate = held({.passes = 8, .patience = 1h}, rules);
  CHECK(gate.arrive("big", {.tokens = 900}, batch) == "-");
  CHECK(gate.explain("big").bound == constraint::pool_tokens);
  CHECK(gate.arrive("i0", {.tokens = 10}) == "granted i0");
  CHECK(gate.arrive("i1", {.tokens = 1}) == "-");
  CHECK(gate.explain("i1").bound == constraint::protected_tokens);
  CHECK(gate.explain("i1").available == 0);
  CHECK(gate.explain("i1").shortfall == 1);
}

TEST_CASE("what passes stays within its class's ceiling") {
  auto rules = bare({100, 1'000});
  rules[batch].ceiling.slots = 2;
  auto gate = held({.passes = 8, .patience = 1h}, rules);
  CHECK(gate.arrive("own", {.tokens = 100}, batch) == "granted own");
  CHECK(gate.arrive("big", {.tokens = 850}, batch) == "-");
  CHECK(gate.arrive("wide", {.tokens = 10, .slots = 2}, batch) == "-");
  CHECK(gate.explain("wide").bound == constraint::class_slots);
  CHECK(gate.finish("own") == "granted wide");
}

TEST_CASE("what passes has to have the provider's rate as well") {
  auto rules = bare({100, 1'000});
  rules.rates.requests = {60, 2};
  auto gate = held({.passes = 8, .patience = 1h}, rules);
  CHECK(gate.arrive("big", {.tokens = 900}) == "-");
  CHECK(gate.arrive("s0", {.tokens = 10}) == "granted s0");
  CHECK(gate.arrive("s1", {.tokens = 10}) == "-");
  gate.now += 1s;
  CHECK(gate.tick() == "granted s1");
}
