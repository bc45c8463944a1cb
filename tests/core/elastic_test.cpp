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

TEST_CASE("a class that is paused lends all of its floor, and has it back as soon as nobody above is left") {
  auto rules = bare({4, 1'000});
  rules[interactive].priority = 1;
  rules[batch].floor = {1, 500};
  rules[batch].elastic = {.enabled = true, .minimum = 1, .backoff = 0.5, .target = 1s, .window = 1s, .pause = 10s};
  logged_gate gate(rules);
  CHECK(gate.arrive("holder", {.tokens = 900}) == "granted holder");
  CHECK(gate.arrive("i", {.tokens = 600}) == "-");
  CHECK(gate.arrive("b", {.tokens = 500}, batch) == "-");
  gate.now += 1s + 1ms;
  gate.tick();
  CHECK(gate.of(batch).elastic_limit == 0);
  // Nothing of the 500 tokens is kept for what cannot start anyway.
  CHECK(gate.finish("holder") == "granted i");
  CHECK(gate.explain("b").bound == constraint::elastic_limit);
  CHECK(gate.finish("i") == "granted b");
}

TEST_CASE("it rises only for work that its own ceiling keeps waiting") {
  logged_gate gate(yielding());
  CHECK(gate.arrive("i", {.tokens = 10, .slots = 8}) == "granted i");
  CHECK(gate.arrive("j", {.tokens = 10, .slots = 6}) == "-");
  CHECK(gate.of(batch).elastic_limit == 2);
  CHECK(gate.finish("i") == "granted j");
  CHECK(gate.arrive("b0", {.tokens = 10}, batch) == "granted b0");
  for (int i = 0; i < 3; ++i) {
    gate.now += 1s;
    gate.tick();
    CHECK(gate.of(batch).elastic_limit == 2);
  }
  // The pool is full: what waits now waits for that.
  CHECK(gate.arrive("b1", {.tokens = 99'990}, batch) == "-");
  CHECK(gate.explain("b1").bound == constraint::pool_tokens);
  for (int i = 0; i < 3; ++i) {
    gate.now += 1s;
    gate.tick();
    CHECK(gate.of(batch).elastic_limit == 2);
  }
}

TEST_CASE("first tokens of urgent work that come late are a reason to yield, though none of it waits") {
  logged_gate gate(yielding());
  for (int i = 0; i < 8; ++i) gate.arrive(numbered("b", i), {.tokens = 10}, batch);
  for (int i = 0; i < 6; ++i) CHECK(gate.finish(numbered("b", i)) == "-");
  const auto first_token_after = [&gate](const std::string& name, duration taken) {
    CHECK(gate.arrive(name, {.tokens = 20, .output_tokens = 10}) == "granted " + name);
    gate.now += taken;
    CHECK(gate.report(name, {.input_tokens = 10, .output_tokens = 1}) == "-");
    gate.tick();
    CHECK(gate.finish(name) == "-");
  };
  CHECK(gate.of(batch).elastic_limit == 8);
  first_token_after("calm", 100ms);
  CHECK(gate.of(batch).elastic_limit == 2);
  // Two run, and one more waits for the ceiling.
  CHECK(gate.arrive("b8", {.tokens = 10}, batch) == "-");
  CHECK(gate.arrive("k", {.tokens = 10}) == "granted k");
  gate.now += 1s;
  CHECK(gate.tick() == "granted b8");
  CHECK(gate.of(batch).elastic_limit == 3);
  // An eighth of the way to 20 s is above the target and twice what it was.
  first_token_after("late", 20s);
  CHECK(gate.of(batch).elastic_limit == 2);
}

TEST_CASE("it asks to be woken when it may rise for what waits") {
  logged_gate gate(yielding());
  CHECK(gate.arrive("i", {.tokens = 10, .slots = 8}) == "granted i");
  CHECK(gate.arrive("j", {.tokens = 10, .slots = 2}) == "-");
  CHECK(gate.finish("i") == "granted j");
  for (int i = 0; i < 2; ++i) CHECK(gate.arrive(numbered("b", i), {}, batch) == "granted " + numbered("b", i));
  CHECK(gate.wake == never);
  CHECK(gate.arrive("b2", {}, batch) == "-");
  CHECK(gate.wake == instant{} + 1s);
  gate.now = gate.wake;
  CHECK(gate.tick() == "granted b2");
}
