// Tenants of one class: whose turn it is, as logs.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

constexpr tenant acme("acme");
constexpr tenant blue("blue");

std::string numbered(const char* name, int number) { return name + std::to_string(number); }

/// One slot, taken by nobody in particular.
logged_gate busy(policy rules = bare({1, 100'000})) {
  logged_gate gate(rules);
  CHECK(gate.arrive("running", {}) == "granted running");
  return gate;
}

}  // namespace

TEST_CASE("two tenants take turns, however much one of them asks for at first") {
  auto gate = busy();
  for (int i = 0; i < 6; ++i)
    CHECK(gate.arrive(numbered("a", i), {.tokens = 100}, interactive, {.tenant = acme}) == "-");
  for (int i = 0; i < 3; ++i)
    CHECK(gate.arrive(numbered("b", i), {.tokens = 100}, interactive, {.tenant = blue}) == "-");
  // Both start at the present of the class; acme came first. Then each is 100 further with each turn.
  CHECK(gate.finish("running") == "granted a0");
  CHECK(gate.finish("a0") == "granted b0");
  CHECK(gate.finish("b0") == "granted a1");
  CHECK(gate.finish("a1") == "granted b1");
  CHECK(gate.finish("b1") == "granted a2");
  CHECK(gate.finish("a2") == "granted b2");
  CHECK(gate.finish("b2") == "granted a3");
  CHECK(gate.finish("a3") == "granted a4");
}

TEST_CASE("turns are paid for in tokens: one large piece of work is as much as three small ones") {
  auto gate = busy();
  for (int i = 0; i < 3; ++i)
    CHECK(gate.arrive(numbered("a", i), {.tokens = 300}, interactive, {.tenant = acme}) == "-");
  for (int i = 0; i < 6; ++i)
    CHECK(gate.arrive(numbered("b", i), {.tokens = 100}, interactive, {.tenant = blue}) == "-");
  CHECK(gate.finish("running") == "granted a0");
  CHECK(gate.finish("a0") == "granted b0");
  CHECK(gate.finish("b0") == "granted b1");
  CHECK(gate.finish("b1") == "granted b2");
  // Both are at 300 now; acme has been there for longer.
  CHECK(gate.finish("b2") == "granted a1");
  CHECK(gate.finish("a1") == "granted b3");
}

TEST_CASE("a tenant of weight two gets twice the tokens") {
  auto rules = bare({1, 100'000});
  rules.tenants.emplace_back("acme").weight = 2;
  auto gate = busy(rules);
  for (int i = 0; i < 6; ++i) {
    CHECK(gate.arrive(numbered("a", i), {.tokens = 100}, interactive, {.tenant = acme}) == "-");
    CHECK(gate.arrive(numbered("b", i), {.tokens = 100}, interactive, {.tenant = blue}) == "-");
  }
  // Tags of acme 0, 50, 100, 150, ..., of blue 0, 100, 200; at a tie goes who has had that tag for longer.
  CHECK(gate.finish("running") == "granted a0");
  CHECK(gate.finish("a0") == "granted b0");
  CHECK(gate.finish("b0") == "granted a1");
  CHECK(gate.finish("a1") == "granted b1");
  CHECK(gate.finish("b1") == "granted a2");
  CHECK(gate.finish("a2") == "granted a3");
  CHECK(gate.finish("a3") == "granted b2");
  CHECK(gate.finish("b2") == "granted a4");
  CHECK(gate.finish("a4") == "granted a5");
}

TEST_CASE("a tenant that was idle brings no credit") {
  auto gate = busy();
  for (int i = 0; i < 8; ++i)
    CHECK(gate.arrive(numbered("a", i), {.tokens = 100}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.finish("running") == "granted a0");
  for (int i = 0; i < 4; ++i) CHECK(gate.finish(numbered("a", i)) == "granted " + numbered("a", i + 1));
  // 500 have been served meanwhile; blue gets its turn now, but not five in a row.
  for (int i = 0; i < 3; ++i)
    CHECK(gate.arrive(numbered("b", i), {.tokens = 100}, interactive, {.tenant = blue}) == "-");
  CHECK(gate.finish("a4") == "granted b0");
  CHECK(gate.finish("b0") == "granted a5");
  CHECK(gate.finish("a5") == "granted b1");
}

TEST_CASE("what was reserved and not used counts no more as soon as that is known") {
  auto gate = busy();
  for (int i = 0; i < 3; ++i)
    CHECK(gate.arrive(numbered("a", i), {.tokens = 300}, interactive, {.tenant = acme}) == "-");
  for (int i = 0; i < 6; ++i)
    CHECK(gate.arrive(numbered("b", i), {.tokens = 100}, interactive, {.tenant = blue}) == "-");
  CHECK(gate.finish("running") == "granted a0");
  // Of the 300 only 50 were used: acme is at 50 instead of at 300, blue at 0.
  CHECK(gate.finish("a0", usage{50, 0}) == "granted b0");
  CHECK(gate.finish("b0", usage{100, 0}) == "granted a1");
  // And what was overrun counts: blue's 100 were 900.
  CHECK(gate.finish("a1", usage{300, 0}) == "granted b1");
  CHECK(gate.finish("b1", usage{900, 0}) == "granted a2");
}

TEST_CASE("the wait for another tenant's turn is told as that") {
  auto gate = busy(bare({2, 1'000}));
  CHECK(gate.arrive("a0", {.tokens = 600}, interactive, {.tenant = acme}) == "granted a0");
  CHECK(gate.arrive("a1", {.tokens = 10}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.arrive("b", {.tokens = 900}, interactive, {.tenant = blue}) == "-");
  CHECK(gate.explain("a1").bound == constraint::pool_slots);
  // It is blue's turn, which waits for tokens, and nobody may pass it here.
  CHECK(gate.finish("running") == "-");
  CHECK(gate.explain("b").bound == constraint::pool_tokens);
  CHECK(gate.explain("a1").bound == constraint::tenant_turn);
  CHECK(gate.explain("a1").tenant == acme);
  CHECK(gate.finish("a0") == "granted b, granted a1");
}

TEST_CASE("turns are each class's own") {
  auto gate = busy();
  CHECK(gate.arrive("a0", {.tokens = 900}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.finish("running") == "granted a0");
  CHECK(gate.arrive("a1", {.tokens = 900}, batch, {.tenant = acme}) == "-");
  CHECK(gate.arrive("b1", {.tokens = 900}, batch, {.tenant = blue}) == "-");
  // What acme had in interactive does not count in batch.
  CHECK(gate.finish("a0") == "granted a1");
}

TEST_CASE("beyond max_tenants the one idle for longest is forgotten; with all busy, newcomers share one place") {
  auto rules = bare({1, 100'000});
  rules.max_tenants = 2;
  auto gate = busy(rules);
  CHECK(gate.machine.statistics().tenants == 0);
  CHECK(gate.arrive("a", {.tokens = 100}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.arrive("b", {.tokens = 100}, interactive, {.tenant = blue}) == "-");
  CHECK(gate.machine.statistics().tenants == 2);
  // Two more share one place: between them it is the order of arrival, not turns.
  for (int i = 0; i < 3; ++i)
    CHECK(gate.arrive(numbered("c", i), {.tokens = 100}, interactive, {.tenant = tenant(7)}) == "-");
  CHECK(gate.arrive("d", {.tokens = 100}, interactive, {.tenant = tenant(8)}) == "-");
  CHECK(gate.machine.statistics().tenants == 2);
  CHECK(gate.finish("running") == "granted a");
  CHECK(gate.finish("a") == "granted b");
  CHECK(gate.finish("b") == "granted c0");
  CHECK(gate.finish("c0") == "granted c1");
  CHECK(gate.finish("c1") == "granted c2");
  CHECK(gate.finish("c2") == "granted d");
  // acme is idle, for longest; its place is the next newcomer's.
  CHECK(gate.arrive("e", {.tokens = 100}, interactive, {.tenant = tenant(9)}) == "-");
  CHECK(gate.machine.statistics().tenants == 2);
}

TEST_CASE("while both wait, what two tenants were served differs by no more than the published bound") {
  // Goyal, Vin and Cheng: |W_a / w_a - W_b / w_b| <= c / w_a + c / w_b over any stretch in which both wait.
  std::mt19937_64 draw(3);
  const auto upto = [&draw](std::int64_t most) {
    return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most)) + 1;
  };
  for (int trial = 0; trial < 20; ++trial) {
    const std::int64_t weights[] = {upto(5), upto(5), upto(5)};
    auto rules = bare({1, 100'000});
    for (int t = 0; t < 3; ++t) rules.tenants.emplace_back(numbered("t", t)).weight = weights[t];
    admission machine(rules);
    effects out;
    constexpr std::int64_t largest = 500;
    struct work {
      int of;
      std::int64_t tokens;
    };
    std::vector<work> all;
    const auto arrive = [&](int t) {
      all.push_back({t, upto(largest)});
      machine.arrive({.cost = {.tokens = all.back().tokens}, .tenant = tenant(numbered("t", t)), .tag = all.size() - 1},
                     instant{}, out);
    };
    machine.arrive({.tag = 1'000'000}, instant{}, out);
    request_id running = out.list.front().id;
    // Each always has work waiting: whatever is served is followed by more of the same tenant.
    for (int i = 0; i < 2; ++i) {
      for (int t = 0; t < 3; ++t) arrive(t);
    }
    std::array<double, 3> served{};
    for (int step = 0; step < 2'000; ++step) {
      out.clear();
      REQUIRE(machine.finish(running, ending::released, {}, instant{}, out));
      REQUIRE(out.list.size() == 1);
      running = out.list[0].id;
      const work next = all[out.list[0].tag];
      served[static_cast<std::size_t>(next.of)] += static_cast<double>(next.tokens);
      arrive(next.of);
      for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const double wa = static_cast<double>(weights[a]);
          const double wb = static_cast<double>(weights[b]);
          REQUIRE(std::abs(served[a] / wa - served[b] / wb) <= largest / wa + largest / wb + 1);
        }
      }
    }
  }
}
