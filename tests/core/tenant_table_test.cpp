// The tenants that are known: their settings, their flows, and who is forgotten.
#include "core/tenant_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

policy knowing(std::size_t most) {
  policy made({10, 1'000});
  made.max_tenants = most;
  made.other_tenants.rates.requests = {60, 1};
  made.tenants.emplace_back("acme").weight = 4;
  return made;
}

}  // namespace

TEST_CASE("nobody in particular is always there, and is no tenant") {
  fair_queue flows;
  tenant_table table(flows);
  table.configure(knowing(2), instant{});
  CHECK(table.find(tenant(), instant{}) == tenant_table::nobody);
  CHECK(table.size() == 0);
}

TEST_CASE("a tenant has its own settings, or those of all others") {
  fair_queue flows;
  tenant_table table(flows);
  table.configure(knowing(10), instant{});
  const std::uint32_t acme = table.find(tenant("acme"), instant{});
  const std::uint32_t other = table.find(tenant("other"), instant{});
  CHECK(table.find(tenant("acme"), instant{}) == acme);
  CHECK(table.size() == 2);
  CHECK(table[acme].weight == 4);
  CHECK_FALSE(table[acme].rates.limited());
  CHECK(table[other].weight == 1);
  CHECK(table[other].rates.limited());
  CHECK(table[other].rates.burst(rate_axis::requests) == 1);
}

TEST_CASE("each class has a flow of its own for each tenant, with its weight") {
  fair_queue flows;
  tenant_table table(flows);
  table.configure(knowing(10), instant{});
  const std::uint32_t acme = table.find(tenant("acme"), instant{});
  const std::uint32_t first = table.flow_in(acme, 0);
  const std::uint32_t second = table.flow_in(acme, 1);
  CHECK(first != second);
  CHECK(table.flow_in(acme, 0) == first);
  CHECK(flows[first].workload == 0);
  CHECK(flows[second].workload == 1);
  CHECK(flows[first].per_token == (std::uint64_t{1} << 32) / 4);
  // New settings reach what is there already.
  auto next = knowing(10);
  next.tenants[0].weight = 2;
  next.tenants.emplace_back("other").rates.requests = {120, 5};
  const std::uint32_t other = table.find(tenant("other"), instant{});
  table.configure(next, instant{});
  CHECK(flows[first].per_token == (std::uint64_t{1} << 32) / 2);
  CHECK(table[other].rates.burst(rate_axis::requests) == 5);
}

TEST_CASE("when there are too many the one idle for longest goes, unless it still owes something") {
  fair_queue flows;
  tenant_table table(flows);
  table.configure(knowing(2), instant{});
  const std::uint32_t a = table.find(tenant(11), instant{});
  const std::uint32_t b = table.find(tenant(12), instant{});
  table.use(a);
  table.use(b);
  // Both are busy: newcomers share a place, and are not known.
  CHECK(table.find(tenant(13), instant{}) == tenant_table::shared);
  CHECK(table.find(tenant(14), instant{}) == tenant_table::shared);
  CHECK(table.size() == 2);
  table.release(b);
  table[b].rates.take({1, 0, 0}, instant{});
  CHECK(table.find(tenant(13), instant{}) == tenant_table::shared);
  // A second later its rate has drained, and it would be the same when it came anew.
  const std::uint32_t c = table.find(tenant(13), instant{} + 1s);
  CHECK(c != tenant_table::shared);
  CHECK(table.size() == 2);
  CHECK(table.find(tenant(11), instant{} + 1s) == a);
}

TEST_CASE(
    "random comings and goings: never more than allowed, nobody busy is forgotten, and the idle go in their order") {
  fair_queue flows;
  tenant_table table(flows);
  constexpr std::size_t most = 8;
  auto rules = knowing(most);
  rules.other_tenants.rates = {};
  table.configure(rules, instant{});
  struct known {
    std::uint64_t key;
    std::uint32_t cell;
    int users = 0;
  };
  // The naive list: those that are idle in the order in which they became so, in front of it the one idle for longest.
  std::vector<known> all;
  std::vector<std::uint64_t> idle;
  std::mt19937_64 draw(41);
  for (int step = 0; step < 50'000; ++step) {
    const std::uint64_t key = 100 + draw() % 16;
    auto found = std::find_if(all.begin(), all.end(), [key](const known& one) { return one.key == key; });
    if (draw() % 2 == 0) {
      const std::uint32_t cell = table.find(tenant(key), instant{});
      if (found == all.end()) {
        if (all.size() == most && idle.empty()) {
          REQUIRE(cell == tenant_table::shared);
          continue;
        }
        if (all.size() == most) {
          std::erase_if(all, [&idle](const known& one) { return one.key == idle.front(); });
          idle.erase(idle.begin());
        }
        all.push_back({key, cell});
        idle.push_back(key);
        found = all.end() - 1;
      }
      REQUIRE(cell == found->cell);
      if (draw() % 2 == 0) {
        table.use(cell);
        if (found->users++ == 0) std::erase(idle, key);
      }
    } else if (found != all.end() && found->users > 0) {
      table.release(found->cell);
      if (--found->users == 0) idle.push_back(key);
    }
    REQUIRE(table.size() == all.size());
  }
}
