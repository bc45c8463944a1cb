// Who has waited longer than its class promises steps aside for those that can still be in time, and is not forgotten.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

/// One slot, taken; interactive promises to start within three seconds.
logged_gate promising(duration age_cap = 30s) {
  policy rules = bare({1, 1'000});
  rules[interactive].start_within = 3s;
  rules.overload.age_cap = age_cap;
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {.tokens = 10}) == "granted running");
  return gate;
}

}  // namespace

TEST_CASE("who has waited longer than the promise steps aside for those that have not") {
  auto gate = promising();
  CHECK(gate.arrive("a", {.tokens = 10}) == "-");
  gate.now = instant{} + 1ms;
  CHECK(gate.arrive("b", {.tokens = 10}) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.arrive("c", {.tokens = 10}) == "-");
  gate.now = instant{} + 3s + 2ms;
  CHECK(gate.finish("running") == "granted c");
  // Nobody is left who is not late: the late ones in their old order.
  CHECK(gate.finish("c") == "granted a");
  CHECK(gate.arrive("d", {.tokens = 10}) == "-");
  CHECK(gate.finish("a") == "granted d");
  CHECK(gate.finish("d") == "granted b");
}

TEST_CASE("who has waited for just the promise keeps its place") {
  auto gate = promising();
  CHECK(gate.arrive("a", {.tokens = 10}) == "-");
  gate.now = instant{} + 2s;
  CHECK(gate.arrive("b", {.tokens = 10}) == "-");
  gate.now = instant{} + 3s;
  CHECK(gate.finish("running") == "granted a");
}

TEST_CASE("who is late and has waited for the age cap comes first again") {
  auto gate = promising(10s);
  CHECK(gate.arrive("a", {.tokens = 10}) == "-");
  gate.now = instant{} + 9s;
  CHECK(gate.arrive("b", {.tokens = 10}) == "-");
  CHECK(gate.arrive("c", {.tokens = 10}) == "-");
  gate.now = instant{} + 10s - 1ns;
  CHECK(gate.finish("running") == "granted b");
  gate.now = instant{} + 10s;
  CHECK(gate.finish("b") == "granted a");
  CHECK(gate.finish("a") == "granted c");
}

TEST_CASE("a class that promises nothing keeps its order however long it waits") {
  auto gate = promising();
  CHECK(gate.arrive("a", {.tokens = 10}, batch) == "-");
  gate.now = instant{} + 1h;
  CHECK(gate.arrive("b", {.tokens = 10}, batch) == "-");
  CHECK(gate.finish("running") == "granted a");
}
