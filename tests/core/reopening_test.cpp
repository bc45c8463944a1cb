// How the gate opens again after a pause.
#include "core/reopening.hpp"

#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::extras;
using sluice::core::testing::logged_gate;

namespace {

instant at(duration since) { return instant{} + since; }

/// When each of `many` waiters starts, for whom there is room, after a pause from the origin.
std::vector<duration> starts_after(duration pause, capacity pool, int many, const reopening_policy& how = {}) {
  auto rules = bare(pool);
  rules.reopening = how;
  logged_gate gate(rules);
  CHECK(gate.pause(at(pause)) == "-");
  for (int i = 0; i < many; ++i) CHECK(gate.arrive("w" + std::to_string(i), {.tokens = 1}) == "-");
  std::vector<duration> starts;
  while (gate.machine.waiting() > 0) {
    REQUIRE(gate.wake != never);
    gate.now = gate.wake;
    const std::size_t before = gate.machine.in_flight();
    gate.tick();
    starts.resize(starts.size() + gate.machine.in_flight() - before, gate.now.time_since_epoch());
  }
  return starts;
}

int most_within(const std::vector<duration>& starts, duration length) {
  std::ptrdiff_t most = 0;
  for (auto from = starts.begin(); from != starts.end(); ++from)
    most = std::max(most, std::lower_bound(from, starts.end(), *from + length) - from);
  return static_cast<int>(most);
}

}  // namespace

TEST_CASE("retry-after 3: twenty callers after a pause of 600 s do not start within the same second") {
  const auto starts = starts_after(600s, {20, 1'000}, 20);
  REQUIRE(starts.size() == 20);
  CHECK(starts.front() == 600s);
  // A spread of 60 s over twenty slots.
  for (std::size_t i = 0; i < starts.size(); ++i) CHECK(starts[i] == 600s + 3s * i);
  CHECK(most_within(starts, 1s) == 1);
}

TEST_CASE("no ten milliseconds see more than five starts, however many wait, and also when the spread is over") {
  // 200 callers and a second: a spread of 250 ms in steps of 2 ms is over when 125 have started.
  const auto starts = starts_after(1s, {1'000, 10'000}, 200);
  REQUIRE(starts.size() == 200);
  CHECK(most_within(starts, 10ms) == 5);
  CHECK(starts.back() == 1s + 199 * 2ms);
}

TEST_CASE("the spread is a tenth of the pause, within its bounds; each start is a step after the last") {
  // 5 s: 500 ms over 10 slots.
  const auto starts = starts_after(5s, {10, 1'000}, 10);
  CHECK(starts[1] - starts[0] == 50ms);
  CHECK(starts_after(1ms, {10, 1'000}, 2)[1] == 1ms + 25ms);
  CHECK(starts_after(10h, {10, 1'000}, 2)[1] == 10h + 6s);
}

TEST_CASE("in the spread one more than it has slots for starts at its end") {
  // One slot asks for no capacity, so that more can start than there are slots.
  auto rules = bare({2, 1'000});
  logged_gate gate(rules);
  CHECK(gate.pause(at(10s)) == "-");
  for (const char* const name : {"a", "b", "c", "d"}) CHECK(gate.arrive(name, {.slots = 0}) == "-");
  gate.now = at(10s);
  CHECK(gate.tick() == "granted a");
  CHECK(gate.wake == at(10'500ms));
  gate.now = at(10'500ms);
  CHECK(gate.tick() == "granted b");
  // The spread ends then; those who still wait follow by the least step.
  CHECK(gate.wake == at(11s));
  gate.now = at(11s);
  CHECK(gate.tick() == "granted c");
  CHECK(gate.wake == at(11'002ms));
  gate.now = at(11'002ms);
  CHECK(gate.tick() == "granted d");
  CHECK(gate.arrive("e", {}) == "granted e");
  CHECK(gate.arrive("f", {}) == "granted f");
}

TEST_CASE("those who come during the spread wait for their turn like the others, on every way in") {
  logged_gate gate(bare({2, 1'000}));
  CHECK(gate.pause(at(10s)) == "-");
  gate.now = at(10s);
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.finish("a") == "-");
  CHECK_FALSE(gate.machine.arrive_at_once({}, gate.now));
  CHECK(gate.arrive("try", {}, interactive, {.may_wait = false}) == "rejected try (rate_limited)");
  CHECK(gate.last.bound == constraint::reopening);
  CHECK(gate.last.could_start == at(10'500ms));
  CHECK(explain(gate.last, "interactive") ==
        "refused (rate_limited): the provider asked for a pause, and the gate opens again little by little; it could "
        "start in 0.5 "
        "s; or wait with admit()");
  CHECK(gate.would({}) == "waits for 500 ms");
  CHECK(gate.arrive("b", {}, batch) == "-");
  CHECK(gate.explain("b").bound == constraint::reopening);
  CHECK(gate.would({}) == "waits for 500 ms");
  CHECK(gate.would({}, batch) == "waits for 1000 ms");
  gate.now = at(10'500ms);
  CHECK(gate.tick() == "granted b");
  CHECK_FALSE(gate.machine.arrive_at_once({}, gate.now));
  gate.now = at(11s);
  CHECK(gate.machine.arrive_at_once({}, gate.now));
}

TEST_CASE("when the spread is over and nobody waits, all is as before") {
  logged_gate gate(bare({100, 1'000}));
  CHECK(gate.pause(at(1s)) == "-");
  gate.now = at(1'250ms);
  for (int i = 0; i < 50; ++i) CHECK(gate.machine.arrive_at_once({}, gate.now));
}

TEST_CASE("a pause of zero lifts the pause and what follows it") {
  logged_gate gate(bare({4, 1'000}));
  CHECK(gate.pause(at(10s)) == "-");
  for (const char* const name : {"a", "b", "c"}) CHECK(gate.arrive(name, {}) == "-");
  CHECK(gate.pause(gate.now) == "granted a, granted b, granted c");
  for (const char* const name : {"a", "b", "c"}) CHECK(gate.finish(name) == "-");
  CHECK(gate.pause(at(10s)) == "-");
  for (const char* const name : {"a", "b", "c"}) CHECK(gate.arrive(name, {}) == "-");
  gate.now = at(10s);
  CHECK(gate.tick() == "granted a");
  CHECK(gate.pause(gate.now) == "granted b, granted c");
}

TEST_CASE("those who wait for capacity, and not for the gate, end the opening when the spread is over") {
  logged_gate gate(bare({3, 1'000}));
  CHECK(gate.pause(at(10s)) == "-");
  CHECK(gate.arrive("big", {.tokens = 1'000}) == "-");
  CHECK(gate.arrive("next", {.tokens = 1'000}) == "-");
  gate.now = at(10s);
  CHECK(gate.tick() == "granted big");
  gate.now = at(12s);
  CHECK(gate.tick() == "-");
  CHECK(gate.explain("next").bound == constraint::pool_tokens);
  // One ends and two follow, in one event.
  CHECK(gate.cancel("next") == "-");
  CHECK(gate.arrive("x", {.tokens = 500}) == "-");
  CHECK(gate.arrive("y", {.tokens = 500}) == "-");
  CHECK(gate.finish("big") == "granted x, granted y");
}

TEST_CASE("without a spread and a step everybody starts when the pause ends") {
  const auto starts = starts_after(10s, {20, 1'000}, 20, {.share = 0, .least = 0s, .most = 0s, .step = 0s});
  CHECK(std::all_of(starts.begin(), starts.end(), [](duration one) { return one == 10s; }));
}

TEST_CASE("a longer pause counts from the beginning of the one in force; what is left of an opening goes on") {
  reopening gate;
  gate.configure({.share = 0.1, .least = 0s, .most = 1h, .step = 1ms});
  CHECK(gate.pause(at(10s), at(0s), 10));
  CHECK_FALSE(gate.pause(at(10s), at(5s), 10));
  CHECK_FALSE(gate.pause(at(9s), at(5s), 10));
  CHECK(gate.pause(at(20s), at(5s), 10));
  CHECK(gate.closed(at(20s) - 1ns));
  CHECK(gate.paused(at(20s) - 1ns));
  CHECK_FALSE(gate.closed(at(20s)));
  gate.started(at(20s));
  // A spread of 2 s over ten slots.
  CHECK(gate.opens_at() == at(20'200ms));
  CHECK(gate.opens_after(3) == at(20'800ms));
  // Its end bounds how long many others take, but for the least step of each.
  CHECK(gate.opens_after(1'000) == at(22s));
  CHECK(gate.opens_after(5'000) == at(25'200ms));
  // A short pause in the middle of the opening does not shorten it.
  CHECK(gate.pause(at(20'300ms), at(20'100ms), 10));
  CHECK_FALSE(gate.closed(at(20'300ms)));
  gate.started(at(20'300ms));
  CHECK(gate.opens_at() == at(20'500ms));
  CHECK_FALSE(gate.past_spread(at(22s) - 1ns));
  CHECK(gate.past_spread(at(22s)));
  gate.started(at(22s));
  CHECK(gate.opens_at() == at(22'001ms));
  CHECK(gate.active());
  gate.rest(at(22s) - 1ns);
  CHECK(gate.active());
  gate.rest(at(22s));
  CHECK_FALSE(gate.active());
}

TEST_CASE("a pause for ever, and one over a pool without slots or without limit, are what they say") {
  reopening gate;
  CHECK(gate.pause(never, at(1s), 0));
  CHECK(gate.closed(at(24h * 365 * 200)));
  CHECK(gate.opens_after(100) == never);
  CHECK_FALSE(gate.pause(at(2s), at(1s), 0));
  CHECK(gate.pause(at(1s), at(1s), 0));
  CHECK_FALSE(gate.active());
  CHECK_FALSE(gate.pause(at(1s), at(1s), 0));
  CHECK(gate.pause(at(2s), at(1s), unlimited));
  gate.started(at(2s));
  CHECK(gate.opens_at() == at(2'002ms));
  CHECK(gate.pause(at(12s), at(2s), 0));
  gate.started(at(12s));
  CHECK(gate.opens_at() == at(13s));
}

TEST_CASE("a new policy holds for pauses to come") {
  auto rules = bare({2, 1'000});
  logged_gate gate(rules);
  CHECK(gate.pause(at(10s)) == "-");
  rules.reopening = {.share = 0, .least = 0s, .most = 0s, .step = 0s};
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "-");
  gate.now = at(10s);
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}) == "-");
  CHECK(gate.wake == at(10'500ms));
}

TEST_CASE("observing lets everybody through during a pause and after it") {
  auto rules = bare({4, 1'000});
  rules.observe = true;
  logged_gate gate(rules);
  CHECK(gate.pause(at(10s)) == "-");
  CHECK(gate.arrive("a", {}) == "granted a");
  gate.now = at(10s);
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK(gate.arrive("c", {}) == "granted c");
  CHECK(gate.all().observed_total == 2);
}
