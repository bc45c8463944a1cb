// In overload the order inside a class: the cheapest first that can still be done in time, and nobody forgotten.
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

policy watching(std::size_t places = 10'000) {
  policy made = bare({1, 100'000});
  made.overload = {.enabled = true, .enter = 0.02, .leave = 0.005, .window = 10s, .age_cap = 30s};
  made.max_waiting = places;
  return made;
}

/// One runs, and of twenty with a deadline that came in the first second one has expired: five in a hundred.
logged_gate overloaded(policy rules = watching()) {
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {}) == "granted running");
  CHECK(gate.arrive("doomed", {.tokens = 1}, interactive, {.deadline = instant{} + 1s}) == "-");
  for (int i = 0; i < 19; ++i)
    CHECK(gate.arrive(numbered("f", i), {.tokens = 5'000}, interactive, {.deadline = instant{} + 900s}) == "-");
  CHECK_FALSE(gate.of(interactive).overloaded);
  gate.now = instant{} + 1s;
  CHECK(gate.tick() == "rejected doomed (deadline_in_queue)");
  CHECK(gate.of(interactive).overloaded);
  return gate;
}

}  // namespace

TEST_CASE("before: the earliest deadline; in overload: the cheapest, and of equals the oldest") {
  auto gate = overloaded();
  CHECK(gate.arrive("dear and urgent", {.tokens = 9'000}, interactive, {.deadline = instant{} + 100s}) == "-");
  CHECK(gate.arrive("cheap", {.tokens = 10}, interactive, {.deadline = instant{} + 950s}) == "-");
  CHECK(gate.arrive("cheap too", {.tokens = 10}, interactive, {.deadline = instant{} + 940s}) == "-");
  CHECK(gate.finish("running") == "granted cheap");
  CHECK(gate.finish("cheap") == "granted cheap too");
  CHECK(gate.finish("cheap too") == "granted f0");
}

TEST_CASE("another class keeps its order") {
  auto gate = overloaded();
  for (const char* name : {"running", "f0", "f1"}) {
    CHECK(gate.finish(name) != "-");
    gate.now += 1ms;
  }
  CHECK_FALSE(gate.of(batch).overloaded);
  CHECK(gate.arrive("b dear", {.tokens = 900}, batch, {.deadline = instant{} + 100s}) == "-");
  CHECK(gate.arrive("b cheap", {.tokens = 1}, batch, {.deadline = instant{} + 200s}) == "-");
  for (int i = 2; i < 18; ++i) CHECK(gate.finish(numbered("f", i)) == "granted " + numbered("f", i + 1));
  CHECK(gate.finish("f18") == "granted b dear");
}

TEST_CASE("who has waited for the age cap goes by its place, whatever cheap work comes") {
  auto gate = overloaded();
  gate.now = instant{} + 20s;
  // Enough misses to stay in overload until then.
  for (int i = 0; i < 30; ++i)
    gate.arrive(numbered("d", i), {.tokens = 9'999}, interactive, {.deadline = gate.now + 1s});
  gate.now += 9'999ms;
  gate.tick();
  REQUIRE(gate.of(interactive).overloaded);
  CHECK(gate.arrive("cheap", {.tokens = 1}, interactive, {.deadline = instant{} + 950s}) == "-");
  CHECK(gate.finish("running") == "granted cheap");
  CHECK(gate.arrive("cheap again", {.tokens = 1}, interactive, {.deadline = instant{} + 950s}) == "-");
  // Thirty seconds after it came, the one whose place is the first.
  gate.now = instant{} + 30s;
  REQUIRE(gate.of(interactive).overloaded);
  CHECK(gate.finish("cheap") == "granted f0");
}

TEST_CASE("when the window has passed without a miss, it is deadlines again") {
  auto gate = overloaded();
  gate.now = instant{} + 12s;
  gate.tick();
  CHECK_FALSE(gate.of(interactive).overloaded);
  CHECK(gate.arrive("cheap", {.tokens = 10}, interactive, {.deadline = instant{} + 950s}) == "-");
  CHECK(gate.finish("running") == "granted f0");
}

TEST_CASE("switched off, nothing is counted") {
  auto rules = watching();
  rules.overload.enabled = false;
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {}) == "granted running");
  for (int i = 0; i < 40; ++i)
    CHECK(gate.arrive(numbered("w", i), {}, interactive, {.deadline = instant{} + 1s}) == "-");
  gate.now = instant{} + 1s;
  gate.tick();
  CHECK(gate.all().expired_total == 40);
  CHECK_FALSE(gate.of(interactive).overloaded);
}

TEST_CASE("the cheapest is passed over while its tenant has no rate left") {
  constexpr tenant poor("poor");
  auto rules = watching();
  tenant_policy limited("poor");
  limited.rates.requests = {1, 1};
  rules.tenants.push_back(limited);
  auto gate = overloaded(rules);
  CHECK(gate.arrive("p0", {.tokens = 1}, interactive, {.deadline = instant{} + 900s, .tenant = poor}) == "-");
  CHECK(gate.finish("running") == "granted p0");
  CHECK(gate.arrive("p1", {.tokens = 1}, interactive, {.deadline = instant{} + 900s, .tenant = poor}) == "-");
  CHECK(gate.finish("p0") == "granted f0");
  CHECK(gate.finish("f0") == "granted f1");
}

TEST_CASE("work that has no deadline can miss none, and does not thin out the misses of what has") {
  logged_gate gate(watching());
  CHECK(gate.arrive("running", {}) == "granted running");
  for (int i = 0; i < 500; ++i) CHECK(gate.arrive(numbered("n", i), {.tokens = 1}) == "-");
  CHECK(gate.arrive("doomed", {.tokens = 1}, interactive, {.deadline = instant{} + 1s}) == "-");
  for (int i = 0; i < 19; ++i) {
    CHECK(gate.arrive(numbered("f", i), {.tokens = 1}, interactive, {.deadline = instant{} + 900s}) == "-");
  }
  gate.now = instant{} + 1s;
  CHECK(gate.tick() == "rejected doomed (deadline_in_queue)");
  CHECK(gate.of(interactive).overloaded);
}
