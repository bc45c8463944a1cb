// A class that makes room while more urgent work suffers, at the gate.
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

policy yielding() {
  policy made = bare({8, 100'000});
  made[interactive].priority = 1;
  made[batch].elastic = {.enabled = true, .minimum = 2, .backoff = 0.5, .target = 1s, .window = 1s};
  return made;
}

/// Batch with work waiting until its ceiling is the pool, alone, and then all of it running.
logged_gate grown(policy rules = yielding()) {
  logged_gate gate(rules);
  for (int i = 0; i < 12; ++i) gate.arrive(numbered("b", i), {.tokens = 10}, batch);
  for (int i = 0; i < 20 && gate.of(batch).elastic_limit < 8; ++i) {
    gate.now += 1s;
    gate.tick();
  }
  CHECK(gate.of(batch).elastic_limit == 8);
  CHECK(gate.of(batch).in_flight == 8);
  CHECK(gate.of(batch).waiting == 4);
  return gate;
}

}  // namespace

TEST_CASE("alone it rises to the pool, never above, while work waits for it") {
  auto gate = grown();
  gate.now += 10s;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 8);
  CHECK(gate.of(interactive).elastic_limit == unlimited);
}

TEST_CASE("at first sight of urgent work it falls to its minimum, and says so to who waits") {
  auto gate = grown();
  CHECK(gate.arrive("i", {.tokens = 10, .slots = 7}) == "-");
  CHECK(gate.of(batch).elastic_limit == 2);
  // What ends is not followed by other batch work, and waiting batch work is told why.
  CHECK(gate.explain("b8").bound != constraint::none);
  for (int i = 0; i < 6; ++i) CHECK(gate.finish(numbered("b", i)) == "-");
  CHECK(gate.explain("b8").bound == constraint::elastic_limit);
  CHECK(gate.explain("b8").limit == 2);
  CHECK(gate.explain("b8").shortfall == 1);
  CHECK(gate.finish("b6") == "granted i");
  CHECK(gate.of(batch).in_flight == 1);
}

TEST_CASE("when urgent work waits for longer than the target it halves, each window, down to its minimum") {
  auto gate = grown();
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  CHECK(gate.finish("b0") == "granted i");
  CHECK(gate.finish("i") == "-");
  // Nobody above is left, and it doubles.
  for (const std::int64_t doubled : {4, 8}) {
    gate.now += 1s;
    gate.tick();
    CHECK(gate.of(batch).elastic_limit == doubled);
  }
  const instant since = gate.now;
  CHECK(gate.arrive("j", {.tokens = 10, .slots = 7}) == "-");
  gate.now = since + 1s;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 8);
  gate.now = since + 1s + 1ms;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 4);
  gate.now = since + 2s;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 4);
  gate.now = since + 2s + 1ms;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 2);
  gate.now = since + 9s;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 2);
}

TEST_CASE("while urgent work runs and does not suffer it comes back by one each window that it is waited for") {
  auto gate = grown();
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  CHECK(gate.finish("b0") == "granted i");
  CHECK(gate.of(batch).elastic_limit == 2);
  for (int i = 1; i < 6; ++i) CHECK(gate.finish(numbered("b", i)) == "-");
  for (const std::int64_t more : {3, 4}) {
    gate.now += 1s;
    gate.tick();
    CHECK(gate.of(batch).elastic_limit == more);
  }
}

TEST_CASE("work of the same or a lower class does not make it yield") {
  auto rules = yielding();
  rules[interactive].priority = 0;
  auto gate = grown(rules);
  CHECK(gate.arrive("i", {.tokens = 10}) == "-");
  gate.now += 30s;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 8);
}

TEST_CASE("a policy without it lifts the ceiling in that event") {
  auto rules = yielding();
  auto gate = grown(rules);
  const instant since = gate.now;
  CHECK(gate.arrive("i", {.tokens = 10, .slots = 7}) == "-");
  for (int n = 1; n <= 3; ++n) {
    gate.now = since + n * 1s + 1ms;
    gate.tick();
  }
  CHECK(gate.of(batch).elastic_limit == 2);
  CHECK(gate.cancel("i") == "-");
  CHECK(gate.finish("b0") == "-");
  rules[batch].elastic.enabled = false;
  rules.revision = 2;
  CHECK(gate.reconfigure(rules) == "granted b8");
  CHECK(gate.of(batch).elastic_limit == unlimited);
}
