// What runs at once sets the pace: expectations follow it, and how many of a class may run for its work to be in time.
#include "core/logged_gate.hpp"

#include "core/pace.hpp"

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

constexpr cost work{.tokens = 200, .output_tokens = 100};

policy judging(double run_share) {
  policy made = bare({100, 1'000'000});
  made.feasibility = {.enabled = true, .service_share = 1, .wait_share = 0.8, .run_share = run_share};
  return made;
}

/// A prompt and 100 tokens, each half of the time.
void run_one(logged_gate& gate, const std::string& name, duration taken) {
  REQUIRE(gate.arrive(name, work) == "granted " + name);
  gate.now += taken / 2;
  REQUIRE(gate.report(name, {.input_tokens = 100, .output_tokens = 1}) == "-");
  gate.now += taken / 2;
  REQUIRE(gate.finish(name, usage{100, 100}) == "-");
}

/// A provider that takes 10 ms for each token when it has one piece of work, and 30 ms when it has five: every piece is
/// as long as 200 tokens.
logged_gate taught(double run_share) {
  logged_gate gate(judging(run_share));
  for (int i = 0; i < 10; ++i) run_one(gate, numbered("alone", i), 2s);
  for (int i = 0; i < 4; ++i) {
    CHECK(gate.arrive(numbered("beside", i), {}, batch) == "granted " + numbered("beside", i));
  }
  for (int i = 0; i < 10; ++i) run_one(gate, numbered("fifth", i), 6s);
  for (int i = 0; i < 4; ++i) CHECK(gate.finish(numbered("beside", i)) == "-");
  return gate;
}

/// So many that each have so much time, one after the other, and one more to learn from.
void give_time(logged_gate& gate, const char* name, int times, duration given) {
  for (int i = 0; i < times; ++i) {
    gate.arrive(numbered(name, i), work, interactive, {.deadline = gate.now + given});
    gate.finish(numbered(name, i));
  }
  run_one(gate, name, 2s);
}

}  // namespace

TEST_CASE("the time for each token is a line over what is in flight, once ten have said so") {
  pace learned;
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(learned.known());
    CHECK(learned.slowness(9) == 1.0);
    learned.sample({.input_tokens = 10, .output_tokens = 100, .to_first_token = 1s, .total = 2s}, 1);
    learned.sample({.input_tokens = 10, .output_tokens = 100, .to_first_token = 1s, .total = 4s}, 5);
  }
  CHECK(learned.known());
  CHECK(learned.at(1) == doctest::Approx(10e6).epsilon(0.03));
  CHECK(learned.at(9) == doctest::Approx(50e6).epsilon(0.03));
  CHECK(learned.most_for(42.5e6) == 7);
  CHECK(learned.most_for(1) == 1);
}

TEST_CASE("answers that are too short, and those without a known first token, say nothing about the pace") {
  pace learned;
  for (int i = 0; i < 20; ++i) {
    learned.sample({.input_tokens = 10, .output_tokens = 7, .to_first_token = 1s, .total = 2s}, 1);
    learned.sample({.input_tokens = 10, .output_tokens = 100, .total = 2s}, 1);
  }
  CHECK_FALSE(learned.known());
}

TEST_CASE("what is expected of work is scaled to what runs now") {
  auto gate = taught(0);
  CHECK(gate.arrive("late", work, interactive, {.deadline = gate.now + 1ms}) == "rejected late (infeasible)");
  const duration alone = gate.last.expected_service;
  for (int i = 0; i < 4; ++i) CHECK(gate.arrive(numbered("more", i), {}, batch) == "granted " + numbered("more", i));
  CHECK(gate.arrive("later", work, interactive, {.deadline = gate.now + 1ms}) == "rejected later (infeasible)");
  const double slowness = static_cast<double>(gate.last.expected_service.count()) / static_cast<double>(alone.count());
  // 7.5 + 5 n milliseconds: with one in flight, and with five.
  CHECK(slowness == doctest::Approx(32.5 / 12.5).epsilon(0.03));
}

TEST_CASE("no more of a class run at once than its work can bear to be in time") {
  auto gate = taught(0.5);
  // Half of ten seconds for 200 tokens' time are 25 ms for each: between three and four in flight.
  give_time(gate, "given", 30, 10s);
  for (int i = 0; i < 3; ++i) CHECK(gate.arrive(numbered("a", i), work) == "granted " + numbered("a", i));
  CHECK(gate.arrive("a3", work) == "-");
  CHECK(gate.explain("a3").available == 0);
  CHECK(gate.arrive("b", work, batch) == "granted b");
  CHECK(gate.finish("a0") == "granted a3");
}

TEST_CASE("those that come again with little time left hardly change how many may run") {
  auto gate = taught(0.5);
  give_time(gate, "given", 30, 10s);
  give_time(gate, "again", 4, 5s);
  for (int i = 0; i < 3; ++i) CHECK(gate.arrive(numbered("a", i), work) == "granted " + numbered("a", i));
  CHECK(gate.arrive("a3", work) == "-");
}

TEST_CASE("without a share, or without deadlines, as many run as there is room for") {
  auto gate = taught(0);
  give_time(gate, "given", 30, 10s);
  auto timeless = taught(0.5);
  for (int i = 0; i < 20; ++i) {
    CHECK(gate.arrive(numbered("a", i), work) == "granted " + numbered("a", i));
    CHECK(timeless.arrive(numbered("a", i), work) == "granted " + numbered("a", i));
  }
}
