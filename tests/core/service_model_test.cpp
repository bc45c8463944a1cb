#include "core/service_model.hpp"

#include <sluice/core/cost.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

constexpr instant at(std::chrono::milliseconds since) { return instant{} + since; }

/// 200 ms and 1 ms for each input token, then 10 ms for each output token.
service_sample sample(std::int64_t input, std::int64_t output, std::int64_t reserved = 0) {
  const duration first = 200ms + input * 1ms;
  return {input, output, reserved, first, first + output * 10ms};
}

/// The same without a known first token.
service_sample unseen(std::int64_t input, std::int64_t output) {
  service_sample what = sample(input, output);
  what.to_first_token = duration{-1};
  return what;
}

double seconds(duration length) { return std::chrono::duration<double>(length).count(); }

constexpr model small{"small"};
constexpr model large{"large"};

}  // namespace

TEST_CASE("nothing is known before five samples") {
  service_model learned(2);
  CHECK(learned.empty());
  CHECK_FALSE(learned.predict(small, 0, 100, unlimited));
  for (int known = 0; known < 4; ++known) CHECK(learned.learn(small, 0, sample(100, 50), at(1ms)));
  CHECK_FALSE(learned.empty());
  CHECK_FALSE(learned.predict(small, 0, 100, unlimited));
  CHECK_FALSE(learned.predict_at(0.5, small, 0, 100, unlimited));
  CHECK(learned.learn(small, 0, sample(100, 50), at(1ms)));
  const auto expected = learned.predict(small, 0, 100, unlimited);
  REQUIRE(expected);
  CHECK(seconds(expected->to_first_token) == doctest::Approx(0.3));
  CHECK(seconds(expected->total) == doctest::Approx(0.8));
  CHECK(expected->output_tokens == doctest::Approx(50));
}

TEST_CASE("what failed at once or has no usage is no sample") {
  service_model learned(2);
  const auto refused = [&](const service_sample& what) { return !learned.learn(small, 0, what, at(1ms)); };
  CHECK(refused({100, 50, 0, duration{-1}, 1999us}));
  CHECK(refused({100, 0, 0, 10ms, 20ms}));
  CHECK(refused({-1, 50, 0, 10ms, 20ms}));
  CHECK(refused({100, 50, 0, 10ms, -5ms}));
  CHECK(learned.empty());
  CHECK_FALSE(refused({100, 50, 0, 1ms, 2ms}));
}

TEST_CASE("the fixed part is told from the part of each token") {
  service_model learned(1);
  for (int round = 0; round < 20; ++round) {
    learned.learn(small, 0, sample(100, 20), at(1ms));
    learned.learn(small, 0, sample(4000, 20), at(1ms));
  }
  CHECK(seconds(learned.predict(small, 0, 2000, unlimited)->to_first_token) == doctest::Approx(2.2).epsilon(0.01));
  CHECK(seconds(learned.predict(small, 0, 0, unlimited)->to_first_token) == doctest::Approx(0.2).epsilon(0.05));
  CHECK(seconds(learned.predict(small, 0, -7, unlimited)->to_first_token) == doctest::Approx(0.2).epsilon(0.05));
}

TEST_CASE("the expected output is that of min(length, reserved)") {
  service_model learned(1);
  for (int round = 0; round < 200; ++round) learned.learn(small, 0, sample(100, round % 2 == 0 ? 10 : 1000), at(1ms));
  // The last one, of 1000, counts 10 for each 9 of the one before: 10 of 19 are long.
  const auto free = learned.predict(small, 0, 100, unlimited);
  CHECK(free->output_tokens == doctest::Approx((9 * 10 + 10 * 1000) / 19.0));
  const auto held = learned.predict(small, 0, 100, 200);
  CHECK(held->output_tokens == doctest::Approx((9 * 10 + 10 * 200) / 19.0));
  CHECK(seconds(held->total) == doctest::Approx(0.3 + 0.01 * held->output_tokens).epsilon(0.01));
  CHECK(learned.predict(small, 0, 100, 0)->output_tokens == 0);
  CHECK(learned.predict(small, 0, 100, -3)->output_tokens == 0);

  CHECK(learned.predict_at(0.25, small, 0, 100, unlimited)->output_tokens == doctest::Approx(10));
  CHECK(learned.predict_at(0.95, small, 0, 100, unlimited)->output_tokens == doctest::Approx(1000));
  CHECK(learned.predict_at(0.95, small, 0, 100, 300)->output_tokens == doctest::Approx(300));
  CHECK(seconds(learned.predict_at(0.95, small, 0, 100, unlimited)->total) == doctest::Approx(10.3).epsilon(0.01));
}

TEST_CASE("answers cut at a small reservation do not make answers look short") {
  service_model learned(1);
  for (int round = 0; round < 100; ++round) {
    learned.learn(small, 0, sample(100, 16, 16), at(1ms));
    learned.learn(small, 0, sample(100, 800, 4096), at(1ms));
  }
  CHECK(learned.predict(small, 0, 100, 4096)->output_tokens == doctest::Approx(800));
  CHECK(learned.predict(small, 0, 100, 16)->output_tokens == doctest::Approx(16));
}

TEST_CASE("without first tokens only the whole is known") {
  service_model learned(1);
  // 0.4 s of the total are not of the output; the lengths vary enough to tell.
  for (int round = 0; round < 40; ++round) learned.learn(small, 0, unseen(200, round % 2 == 0 ? 10 : 400), at(1ms));
  const auto expected = learned.predict_at(0.9, small, 0, 200, 100);
  REQUIRE(expected);
  CHECK(expected->to_first_token < duration::zero());
  CHECK(expected->output_tokens == doctest::Approx(100));
  CHECK(seconds(expected->total) == doctest::Approx(1.4).epsilon(0.02));
}

TEST_CASE("once first tokens are known, they are taken out of totals that come without") {
  service_model learned(1);
  for (int round = 0; round < 10; ++round) learned.learn(small, 0, sample(300, 50), at(1ms));
  for (int round = 0; round < 100; ++round) learned.learn(small, 0, unseen(300, 50), at(1ms));
  const auto expected = learned.predict(small, 0, 300, unlimited);
  CHECK(seconds(expected->to_first_token) == doctest::Approx(0.5));
  CHECK(seconds(expected->total) == doctest::Approx(1.0));
}

TEST_CASE("the class over all models answers for a model it does not know, then the model over all classes") {
  service_model learned(3);
  for (int round = 0; round < 5; ++round) learned.learn(small, 0, sample(100, 10), at(1ms));
  for (int round = 0; round < 5; ++round) learned.learn(large, 1, sample(100, 1000), at(2ms));

  // The class first: an unknown model in class 1, and a known one that has never run there.
  CHECK(learned.predict(model{"other"}, 1, 100, unlimited)->output_tokens == doctest::Approx(1000));
  CHECK(learned.predict(small, 1, 100, unlimited)->output_tokens == doctest::Approx(1000));
  // Then the model: nothing ran in class 2.
  CHECK(learned.predict(small, 2, 100, unlimited)->output_tokens == doctest::Approx(10));
  CHECK(learned.predict(large, 2, 100, unlimited)->output_tokens == doctest::Approx(1000));
  // Never further.
  CHECK_FALSE(learned.predict(model{"other"}, 2, 100, unlimited));
  CHECK(learned.predict(small, 0, 100, unlimited)->output_tokens == doctest::Approx(10));
}

TEST_CASE("a slower provider is believed within twenty samples") {
  service_model learned(1);
  for (int round = 0; round < 100; ++round) learned.learn(small, 0, {100, 100, 0, 100ms, 1100ms}, at(1ms));
  for (int round = 0; round < 20; ++round) learned.learn(small, 0, {100, 100, 0, 300ms, 3300ms}, at(1ms));
  const auto expected = learned.predict(small, 0, 100, unlimited);
  // 0.9^20 = 0.1216 of the old remains.
  CHECK(seconds(expected->to_first_token) == doctest::Approx(0.3 - 0.2 * 0.1216).epsilon(0.001));
  CHECK(seconds(expected->total) == doctest::Approx(3.3 - 2.2 * 0.1216).epsilon(0.001));
}

TEST_CASE("of seventeen models the one that learned longest ago is forgotten") {
  service_model learned(2);
  const auto named = [](int number) { return model("model " + std::to_string(number)); };
  for (int number = 0; number < 16; ++number) {
    for (int round = 0; round < 5; ++round) learned.learn(named(number), 0, sample(100, 10 + number), at(number * 1ms));
  }
  learned.learn(named(0), 0, sample(100, 10), at(20ms));
  learned.learn(named(16), 0, sample(100, 26), at(21ms));
  // Class 1 has nothing of its own, so that the model alone answers.
  CHECK_FALSE(learned.predict(named(1), 1, 100, unlimited));
  CHECK(learned.predict(named(0), 1, 100, unlimited)->output_tokens == doctest::Approx(10));
  CHECK(learned.predict(named(15), 1, 100, unlimited)->output_tokens == doctest::Approx(25));
  // The newcomer inherits nothing from its place.
  for (int round = 0; round < 3; ++round) learned.learn(named(16), 0, sample(100, 26), at(22ms));
  CHECK_FALSE(learned.predict(named(16), 1, 100, unlimited));
  learned.learn(named(16), 0, sample(100, 26), at(22ms));
  CHECK(learned.predict(named(16), 1, 100, unlimited)->output_tokens == doctest::Approx(26));
}

TEST_CASE("lengths and speeds that vary are right on average") {
  service_model learned(1);
  std::mt19937_64 draw(7);
  double error = 0;
  double total = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto input = static_cast<std::int64_t>(100 + draw() % 8000);
    const auto output = static_cast<std::int64_t>(10 + draw() % 1000);
    const service_sample what = sample(input, output, 4096);
    if (round >= 100) {
      const auto expected = learned.predict(small, 0, input, 4096);
      error += seconds(expected->total) - seconds(what.total);
      total += seconds(what.total);
    }
    learned.learn(small, 0, what, at(round * 1ms));
  }
  CHECK(error / total == doctest::Approx(0).epsilon(0.01));
}
