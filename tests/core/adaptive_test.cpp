// The limit that follows the provider, at the gate.
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

/// Of eight slots, `initial` at first.
policy following(std::int64_t initial) {
  policy made = bare({8, 100'000});
  made.adaptive = {.enabled = true, .minimum = 1, .initial = initial, .backoff = 0.5, .window = 1s};
  return made;
}

std::int64_t limit(const logged_gate& gate) { return gate.machine.statistics().adaptive_limit; }

}  // namespace

TEST_CASE("work waits for the moving limit, and is told so with the limit and what is short") {
  logged_gate gate(following(2));
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK(gate.arrive("c", {}) == "-");
  const decision why = gate.explain("c");
  CHECK(why.bound == constraint::adaptive_limit);
  CHECK(why.limit == 2);
  CHECK(why.available == 0);
  CHECK(why.shortfall == 1);
  // The smallest change that lets it in: a minimum of three.
  auto next = following(2);
  next.adaptive.minimum = 3;
  next.adaptive.initial = 3;
  next.revision = 2;
  CHECK(gate.reconfigure(next) == "granted c");
  CHECK(limit(gate) == 3);
  CHECK(gate.machine.statistics().adaptive_reason == limit_change::reconfigured);
}

TEST_CASE("each signal shrinks it once a window, down to the minimum, and the reason is told") {
  logged_gate gate(following(8));
  CHECK(limit(gate) == 8);
  CHECK(gate.signal(provider_signal::rate_limited) == "-");
  CHECK(limit(gate) == 4);
  CHECK(gate.machine.statistics().adaptive_reason == limit_change::rate_limited);
  gate.now += 999ms;
  gate.signal(provider_signal::overloaded);
  CHECK(limit(gate) == 4);
  gate.now += 1ms;
  gate.signal(provider_signal::overloaded);
  CHECK(limit(gate) == 2);
  CHECK(gate.machine.statistics().adaptive_reason == limit_change::overloaded);
  for (int i = 0; i < 5; ++i) {
    gate.now += 1s;
    gate.signal(provider_signal::timed_out);
  }
  CHECK(limit(gate) == 1);
  CHECK(gate.machine.statistics().adaptive_reason == limit_change::timed_out);
}

TEST_CASE("after a decrease what runs goes on, and nothing starts until there is room below the limit") {
  logged_gate gate(following(4));
  for (int i = 0; i < 4; ++i) CHECK(gate.arrive(numbered("a", i), {}) == "granted " + numbered("a", i));
  CHECK(gate.arrive("w", {}) == "-");
  CHECK(gate.signal(provider_signal::overloaded) == "-");
  CHECK(gate.all().in_flight == 4);
  CHECK(gate.finish("a0") == "-");
  CHECK(gate.finish("a1") == "-");
  CHECK(gate.finish("a2") == "granted w");
}

TEST_CASE("it grows only while it is what work waits for") {
  const auto run = [](bool with_demand, ending how) {
    logged_gate gate(following(2));
    gate.arrive("w0", {.tokens = 200, .output_tokens = 100});
    gate.arrive("w1", {.tokens = 200, .output_tokens = 100});
    int next = 2;
    for (int step = 0; step < 40; ++step) {
      if (with_demand) {
        for (; gate.machine.waiting() < 8; ++next)
          gate.arrive(numbered("w", next), {.tokens = 200, .output_tokens = 100});
      }
      gate.now += 500ms;
      const std::string ending_now = numbered("w", step);
      if (gate.finish(ending_now, usage{100, 50}, how) == "holds nothing") break;
      if (!with_demand) gate.arrive(numbered("w", next++), {.tokens = 200, .output_tokens = 100});
    }
    return limit(gate);
  };
  CHECK(run(true, ending::released) == 8);
  CHECK(run(false, ending::released) == 2);
  CHECK(run(true, ending::abandoned) == 2);
  CHECK(run(true, ending::preempted) == 2);
}

TEST_CASE("switched off, it is the pool, and signals change nothing") {
  logged_gate gate(bare({2, 1'000}));
  CHECK(limit(gate) == unlimited);
  gate.signal(provider_signal::overloaded);
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK(gate.arrive("c", {}) == "-");
  CHECK(gate.explain("c").bound == constraint::pool_slots);
}
