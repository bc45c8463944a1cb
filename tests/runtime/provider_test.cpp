// What a provider says and asks for, and what may be tried again, through the bulkhead.
#include "runtime/house.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::runtime_test;

namespace {

policy roomy() { return plain({.slots = 10, .tokens = 100'000}); }

struct roomy_house : house {
  roomy_house() : house(roomy()) {}
};

}  // namespace

TEST_CASE_FIXTURE(roomy_house,
                  "no more is let in than the provider said would remain, and the next one when it is there") {
  gate.report_limits({.requests = {.per_minute = 60, .remaining = 1}});
  auto first = gate.try_admit({.tokens = 10});
  REQUIRE(first);
  const auto second = gate.try_admit({.tokens = 10});
  REQUIRE_FALSE(second);
  CHECK(second.error().reason() == reason::rate_limited);
  CHECK(second.error().details().bound == constraint::reported_requests);
  CHECK(second.error().explain() ==
        "refused (rate_limited): the provider said that it lets 0 of 60 requests through now, 1 request asked; it "
        "could start in 1 "
        "s; or wait with admit()");
  answer got;
  spawn(ask(gate, got, {.tokens = 10}));
  poll();
  CHECK_FALSE(got.result);
  time.advance(999ms);
  poll();
  CHECK_FALSE(got.result);
  time.advance(1ms);
  poll();
  CHECK(got.granted());
}

TEST_CASE_FIXTURE(roomy_house, "a new report completes those who waited for the old one") {
  gate.report_limits({.requests = {.remaining = 0, .reset = 60s}});
  answer got;
  spawn(ask(gate, got, {.tokens = 10}));
  poll();
  CHECK_FALSE(got.result);
  gate.report_limits({.requests = {.remaining = 0, .reset = 0s}});
  poll();
  CHECK(got.granted());
}

TEST_CASE("twenty callers who wait for a pause of 600 s start one after the other, none within a second of another") {
  house home(plain({.slots = 20, .tokens = 100'000}));
  const instant begun = home.time.now();
  home.gate.pause(600s);
  std::vector<answer> all(20);
  for (answer& each : all) home.gate.async_admit({.cost = {.tokens = 10}}, tell(each));
  home.poll();
  std::vector<duration> starts;
  while (starts.size() < all.size() && home.time.now() < begun + 700s) {
    home.time.advance(250ms);
    home.poll();
    const auto granted = std::count_if(all.begin(), all.end(), [](const answer& one) { return one.granted(); });
    REQUIRE(granted <= static_cast<std::ptrdiff_t>(starts.size()) + 1);
    if (granted > static_cast<std::ptrdiff_t>(starts.size())) starts.push_back(home.time.now() - begun);
  }
  REQUIRE(starts.size() == 20);
  CHECK(starts.front() == 600s);
  for (std::size_t i = 1; i < starts.size(); ++i) CHECK(starts[i] - starts[i - 1] == 3s);
}

TEST_CASE_FIXTURE(roomy_house, "a pause of zero lifts the pause and the opening") {
  gate.pause(10s);
  std::vector<answer> all(3);
  for (answer& each : all) gate.async_admit({.cost = {.tokens = 10}}, tell(each));
  poll();
  time.advance(10s);
  poll();
  CHECK(std::count_if(all.begin(), all.end(), [](const answer& one) { return one.granted(); }) == 1);
  gate.pause(0s);
  poll();
  CHECK(std::all_of(all.begin(), all.end(), [](const answer& one) { return one.granted(); }));
}

TEST_CASE("retries and hedges beyond their budget are refused on every way in, and counted by their kind") {
  policy rules = roomy();
  rules.retries = {.share = 0.2, .minimum = 0, .window = 2min};
  house home(rules);
  std::vector<permit> held;
  held.push_back(home.gate.try_admit({.tokens = 1'000}).value());
  held.push_back(home.gate.try_admit({.tokens = 100}, interactive, {.kind = attempt::retry}).value());
  answer hedged;
  home.spawn(ask(home.gate, hedged, {.tokens = 100}, interactive, {.kind = attempt::hedge}));
  home.poll();
  CHECK(hedged.granted());
  const auto refused = home.gate.try_admit({.tokens = 1}, interactive, {.kind = attempt::retry});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reason() == reason::retry_budget);
  answer other;
  home.spawn(ask(home.gate, other, {.tokens = 1}, interactive, {.kind = attempt::hedge}));
  home.poll();
  CHECK(other.why() == reason::retry_budget);
  answer third;
  home.gate.async_admit({.cost = {.tokens = 1}, .options = {.kind = attempt::retry}}, tell(third));
  home.poll();
  CHECK(third.why() == reason::retry_budget);
  CHECK(home.gate.statistics().attempts_total == std::array<std::int64_t, 3>{1, 1, 1});
  CHECK(home.gate.statistics().all.retries_refused_total == 3);
}

TEST_CASE("a retry that was preempted comes again without being counted twice") {
  policy rules = lending();
  rules.retries = {.share = 0.2, .minimum = 1, .window = 2min};
  rules[interactive].floor = {.slots = 2, .tokens = 1'000};
  house home(rules);
  int worked = 0;
  std::optional<expected<int, rejection>> got;
  home.spawn([](house& self, int& times, std::optional<expected<int, rejection>>& into) -> asio::awaitable<void> {
    const auto work = [&times](permit&) -> asio::awaitable<int> {
      if (++times == 1) co_await wait_for_ever();
      co_return times;
    };
    into.emplace(co_await self.gate.run({.tokens = 500}, batch, work, {.kind = attempt::retry}));
  }(home, worked, got));
  home.poll();
  CHECK(worked == 1);
  answer urgent;
  home.gate.async_admit({.cost = {.tokens = 10, .slots = 2}}, tell(urgent));
  home.time.advance(1s);
  home.poll();
  REQUIRE(urgent.granted());
  urgent.release();
  home.poll();
  // Batch may be kept waiting for a while after interactive work.
  for (int i = 0; i < 200 && !got; ++i) {
    home.time.advance(1s);
    home.poll();
  }
  REQUIRE(got);
  CHECK(got->value() == 2);
}

TEST_CASE_FIXTURE(roomy_house, "would_admit tells what would become of it, and changes nothing") {
  const auto same = [this](const statistics& before) {
    const statistics now = gate.statistics();
    return now.all == before.all && now.attempts_total == before.attempts_total && now.tenants == before.tenants;
  };
  const statistics before = gate.statistics();
  gate.start_recording();
  const auto at_once = gate.would_admit({.tokens = 100'000}, interactive, {.tenant = tenant("acme")});
  REQUIRE(at_once);
  CHECK(at_once->at_once);
  CHECK(at_once->wait == duration::zero());
  const auto never_at_all = gate.would_admit({.tokens = 100'001});
  REQUIRE_FALSE(never_at_all);
  CHECK(never_at_all.error().reason() == reason::impossible);
  CHECK(never_at_all.error().class_name() == "interactive");
  CHECK(same(before));
  const std::string asked = gate.take_recording();
  gate.start_recording();
  CHECK(gate.take_recording() == asked);
  CHECK(gate.recent_decisions().empty());

  gate.report_limits({.requests = {.per_minute = 60, .remaining = 0}});
  const auto waits = gate.would_admit({.tokens = 10});
  REQUIRE(waits);
  CHECK_FALSE(waits->at_once);
  CHECK(waits->wait == 1s);
  gate.close();
  CHECK(gate.would_admit({}).error().reason() == reason::closed);
}
