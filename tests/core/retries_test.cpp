// How much may be tried again, at the gate.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::extras;
using sluice::core::testing::logged_gate;

namespace {

const extras again{.kind = attempt::retry};
const extras beside{.kind = attempt::hedge};

policy no_minimum(capacity total) {
  policy made = bare(total);
  made.retries = {.share = 0.2, .minimum = 0, .window = 2min};
  return made;
}

std::string numbered(const char* name, int number) { return name + std::to_string(number); }

}  // namespace

TEST_CASE("retry-budget 1: of 200 callers who fail together, a fifth may try again; the rest are told so at once") {
  logged_gate gate(no_minimum({200, 200'000}));
  for (int i = 0; i < 200; ++i)
    REQUIRE(gate.arrive(numbered("f", i), {.tokens = 1'000}) == "granted " + numbered("f", i));
  for (int i = 0; i < 200; ++i) gate.finish(numbered("f", i), {}, ending::abandoned);
  gate.now += 1s;
  int tried = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string name = numbered("r", i);
    const std::string said = gate.arrive(name, {.tokens = 1'000}, interactive, again);
    if (said == "granted " + name) {
      ++tried;
      // The provider is still down: what fails again counts all the same.
      gate.finish(name, {}, ending::abandoned);
    } else {
      REQUIRE(said == "rejected " + name + " (retry_budget)");
    }
  }
  CHECK(tried == 40);
  CHECK(gate.last.bound == constraint::retry_budget);
  CHECK(gate.all().retries_refused_total == 160);
  CHECK(gate.all().rejected_total == 160);
  CHECK(gate.machine.statistics().attempts_total == std::array<std::int64_t, 3>{200, 40, 0});
}

TEST_CASE("retry-budget 1: 200 who come again at once are not let through by waiting together") {
  logged_gate gate(no_minimum({10, 1'000'000}));
  for (int i = 0; i < 20; ++i) {
    gate.arrive(numbered("f", i), {.tokens = 1'000});
    if (i >= 10) CHECK(gate.finish(numbered("f", i - 10)) == "granted " + numbered("f", i));
  }
  // All slots are taken by first attempts of 20,000 tokens in all: four may wait to come again.
  int waiting = 0;
  for (int i = 0; i < 200; ++i)
    waiting += gate.arrive(numbered("r", i), {.tokens = 1'000}, interactive, again) == "-" ? 1 : 0;
  CHECK(waiting == 4);
  CHECK(gate.machine.waiting() == 4);
  // They start as others end, and still count.
  CHECK(gate.finish("f10") == "granted r0");
  CHECK(gate.arrive("one more", {.tokens = 1'000}, interactive, again) == "rejected one more (retry_budget)");
  // One that goes without having started gives its place back.
  CHECK(gate.cancel("r1") == "-");
  CHECK(gate.arrive("instead", {.tokens = 1'000}, interactive, again) == "-");
  CHECK(gate.arrive("one more", {.tokens = 1'000}, interactive, again) == "rejected one more (retry_budget)");
}

TEST_CASE("one that expires in the queue, or is shed, gives its place back") {
  auto rules = no_minimum({1, 100'000});
  rules.max_waiting = 1;
  logged_gate gate(rules);
  CHECK(gate.arrive("f", {.tokens = 1'000}) == "granted f");
  CHECK(gate.arrive("r", {.tokens = 200}, interactive, {.deadline = instant{} + 1s, .kind = attempt::retry}) == "-");
  CHECK(gate.would({.tokens = 1}, interactive, again) == "retry_budget");
  gate.now += 1s;
  CHECK(gate.tick() == "rejected r (deadline_in_queue)");
  CHECK(gate.arrive("s", {.tokens = 200}, interactive, again) == "-");
  CHECK(gate.arrive("small", {.tokens = 10}) == "rejected s (shed)");
  CHECK(gate.cancel("small") == "-");
  CHECK(gate.would({.tokens = 200}, interactive, again) != "retry_budget");
  CHECK(gate.close() == "-");
}

TEST_CASE("retry-budget 2: what starts for the first time refills it; what is older than the window does not count") {
  auto rules = no_minimum({100, 1'000'000});
  rules.retries.window = 16s;
  logged_gate gate(rules);
  CHECK(gate.arrive("f0", {.tokens = 1'000}) == "granted f0");
  CHECK(gate.arrive("r0", {.tokens = 200}, interactive, again) == "granted r0");
  CHECK(gate.arrive("r1", {.tokens = 1}, interactive, again) == "rejected r1 (retry_budget)");
  CHECK(gate.arrive("f1", {.tokens = 500}) == "granted f1");
  CHECK(gate.arrive("r1", {.tokens = 100}, interactive, again) == "granted r1");
  gate.now += 16s;
  CHECK(gate.arrive("r2", {.tokens = 1}, interactive, again) == "rejected r2 (retry_budget)");
  CHECK(gate.last.limit == 0);
  CHECK(gate.arrive("f2", {.tokens = 10}) == "granted f2");
  CHECK(gate.arrive("r2", {.tokens = 2}, interactive, again) == "granted r2");
}

TEST_CASE("retry-budget 3: a hedge is a retry for this, and a suppressed one touches nothing else") {
  logged_gate gate(no_minimum({10, 100'000}));
  CHECK(gate.arrive("f", {.tokens = 1'000}) == "granted f");
  CHECK(gate.arrive("h", {.tokens = 150}, interactive, beside) == "granted h");
  CHECK(gate.arrive("r", {.tokens = 50}, interactive, again) == "granted r");
  CHECK(gate.arrive("h2", {.tokens = 1}, interactive, beside) == "rejected h2 (retry_budget)");
  CHECK(gate.machine.in_flight() == 3);
  CHECK(gate.held() == 1'200);
  CHECK(gate.machine.statistics().attempts_total == std::array<std::int64_t, 3>{1, 1, 1});
}

TEST_CASE("the minimum is let in whatever it costs, each window anew") {
  auto rules = bare({10, 1'000'000});
  rules.retries = {.share = 0.2, .minimum = 3, .window = 16s};
  logged_gate gate(rules);
  for (const char* const name : {"a", "b", "c"})
    CHECK(gate.arrive(name, {.tokens = 9'000}, interactive, again) == std::string("granted ") + name);
  CHECK(gate.arrive("d", {}, interactive, again) == "rejected d (retry_budget)");
  CHECK(gate.arrive("e", {.tokens = 1}, interactive, again) == "rejected e (retry_budget)");
  gate.now += 16s;
  CHECK(gate.arrive("e", {.tokens = 9'000}, interactive, again) == "granted e");
}

TEST_CASE("rate 4: an attempt that is refused here is not charged to any rate; each that is sent is, once") {
  auto rules = no_minimum({10, 100'000});
  rules.rates.requests = {60, 3};
  rules.rates.input_tokens = {6'000, 5'000};
  logged_gate gate(rules);
  CHECK(gate.arrive("f", {.tokens = 1'000}) == "granted f");
  for (int i = 0; i < 50; ++i)
    CHECK(gate.arrive("r", {.tokens = 201}, interactive, again) == "rejected r (retry_budget)");
  CHECK(gate.arrive("r0", {.tokens = 100}, interactive, again) == "granted r0");
  CHECK(gate.arrive("r1", {.tokens = 100}, interactive, again) == "granted r1");
  // Three requests and 1,200 tokens.
  CHECK(gate.arrive("f1", {.tokens = 3'800}, interactive, {.may_wait = false}) == "rejected f1 (rate_limited)");
  CHECK(gate.last.bound == constraint::provider_requests);
  gate.now += 1s;
  CHECK(gate.arrive("f1", {.tokens = 3'900}) == "granted f1");
}

TEST_CASE("work that was preempted and comes again is neither fresh nor a retry") {
  auto rules = no_minimum({2, 10'000});
  logged_gate gate(rules);
  CHECK(gate.arrive("a", {.tokens = 1'000}) == "granted a");
  age kept = gate.age_of("a");
  ++kept.preemptions;
  CHECK(gate.finish("a", {}, ending::preempted) == "-");
  CHECK(gate.arrive("a", {.tokens = 1'000}, interactive, {.age = kept}) == "granted a");
  CHECK(gate.would({.tokens = 200}, interactive, again) == "at once");
  CHECK(gate.would({.tokens = 201}, interactive, again) == "retry_budget");
  // A retry of it is one.
  CHECK(gate.arrive("r", {.tokens = 201}, interactive, {.age = kept, .kind = attempt::retry}) ==
        "rejected r (retry_budget)");
}

TEST_CASE("the refusal says what is in the window, and what to turn") {
  logged_gate gate(no_minimum({10, 100'000}));
  CHECK(gate.arrive("f", {.tokens = 10'000}) == "granted f");
  CHECK(gate.arrive("r", {.tokens = 1'200}, interactive, again) == "granted r");
  CHECK(gate.arrive("s", {.tokens = 900}, interactive, again) == "rejected s (retry_budget)");
  CHECK(gate.last.limit == 10'000);
  CHECK(gate.last.available == 800);
  // With 500 fresh tokens more it would have been let in.
  CHECK(gate.last.shortfall == 500);
  CHECK(gate.last.ahead == 1);
  CHECK(gate.last.ahead_tokens == 1'200);
  CHECK(explain(gate.last, "interactive") ==
        "refused (retry_budget): 1 retry of 1,200 tokens in the window beside 10,000 of first attempts, 900 tokens "
        "asked; try it "
        "later, or raise retries.share or retries.minimum");
  CHECK(gate.arrive("f2", {.tokens = 500}) == "granted f2");
  CHECK(gate.arrive("s", {.tokens = 900}, interactive, again) == "granted s");
}

TEST_CASE("a share of nothing has no shortfall that would help") {
  auto rules = no_minimum({10, 100'000});
  rules.retries.share = 0;
  logged_gate gate(rules);
  CHECK(gate.arrive("f", {.tokens = 10'000}) == "granted f");
  CHECK(gate.arrive("r", {.tokens = 1}, interactive, again) == "rejected r (retry_budget)");
  CHECK(gate.last.shortfall == unlimited);
  CHECK(gate.arrive("free", {}, interactive, again) == "granted free");
}

TEST_CASE("the fast way holds to it as well") {
  logged_gate gate(no_minimum({10, 100'000}));
  request retry;
  retry.cost.tokens = 100;
  retry.kind = attempt::retry;
  CHECK_FALSE(gate.machine.arrive_at_once(retry, gate.now));
  request fresh;
  fresh.cost.tokens = 1'000;
  CHECK(gate.machine.arrive_at_once(fresh, gate.now));
  CHECK(gate.machine.arrive_at_once(retry, gate.now));
  CHECK(gate.machine.arrive_at_once(retry, gate.now));
  CHECK_FALSE(gate.machine.arrive_at_once(retry, gate.now));
  CHECK(gate.machine.statistics().attempts_total == std::array<std::int64_t, 3>{1, 2, 0});
}

TEST_CASE("where it is switched off, anything may be tried again, and is counted by its kind") {
  auto rules = no_minimum({10, 100'000});
  rules.retries.enabled = false;
  logged_gate gate(rules);
  CHECK(gate.arrive("r", {.tokens = 100}, interactive, again) == "granted r");
  CHECK(gate.arrive("h", {.tokens = 100}, interactive, beside) == "granted h");
  CHECK(gate.machine.statistics().attempts_total == std::array<std::int64_t, 3>{0, 1, 1});
}

TEST_CASE("observing refuses no retry, and says which would have been") {
  auto rules = no_minimum({2, 10'000});
  rules.observe = true;
  logged_gate gate(rules);
  CHECK(gate.arrive("f", {.tokens = 1'000}) == "granted f");
  CHECK(gate.arrive("r0", {.tokens = 200}, interactive, again) == "granted r0");
  CHECK(gate.arrive("r1", {.tokens = 200}, interactive, again) == "granted r1");
  CHECK(gate.held() == 1'200);
  const auto records = gate.machine.recent();
  REQUIRE(records.size() == 1);
  CHECK(records[0].reason == reason::retry_budget);
  CHECK(records[0].observed);
  // What would have waited is tried: it is fresh, and refills.
  CHECK(gate.arrive("f2", {.tokens = 1'000}) == "granted f2");
  CHECK(gate.held() == 1'200);
  CHECK(gate.arrive("r2", {.tokens = 200}, interactive, again) == "granted r2");
  CHECK(gate.machine.recent().size() == 3);
  CHECK(gate.machine.recent().back().reason == reason::none);
  CHECK(gate.arrive("r3", {.tokens = 1}, interactive, again) == "granted r3");
  CHECK(gate.machine.recent().back().reason == reason::retry_budget);
  CHECK(gate.machine.statistics().attempts_total == std::array<std::int64_t, 3>{2, 4, 0});
}

TEST_CASE("a retry that could never be held is refused for that, and takes no place") {
  logged_gate gate(no_minimum({2, 1'000}));
  CHECK(gate.arrive("f", {.tokens = 1'000}) == "granted f");
  CHECK(gate.arrive("r", {.tokens = 1'001}, interactive, again) == "rejected r (impossible)");
  CHECK(gate.arrive("r", {.tokens = 200}, interactive, again) == "-");
}
