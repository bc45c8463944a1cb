#include "llm/estimates/learned_usage.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

using sluice::llm::detail::learned_usage;

namespace {

void see_inputs(learned_usage& known, std::uint64_t model, std::int64_t estimated, std::int64_t reported, int times) {
  for (int i = 0; i < times; ++i) known.saw_input(model, estimated, reported);
}

}  // namespace

TEST_CASE("eight reports make a correction") {
  learned_usage known;
  CHECK(known.correction(1) == 1);
  see_inputs(known, 1, 1'000, 1'250, 7);
  CHECK(known.correction(1) == 1);
  see_inputs(known, 1, 1'000, 1'250, 1);
  CHECK(known.correction(1) == doctest::Approx(1.25));
  CHECK(known.correction(2) == 1);
}

TEST_CASE("a correction is a factor of two at most, either way") {
  learned_usage known;
  see_inputs(known, 1, 100, 700, 20);
  see_inputs(known, 2, 700, 100, 20);
  CHECK(known.correction(1) == 2);
  CHECK(known.correction(2) == 0.5);
}

TEST_CASE("absurd reports teach nothing") {
  learned_usage known;
  see_inputs(known, 1, 1'000, 1'100, 8);
  see_inputs(known, 1, 1'000, 8'001, 50);
  see_inputs(known, 1, 1'000, 124, 50);
  see_inputs(known, 1, 1'000, 0, 50);
  see_inputs(known, 1, 1'000, -5, 50);
  see_inputs(known, 1, 0, 1'000, 50);
  see_inputs(known, 1, 1'000, std::int64_t{1} << 62, 50);
  CHECK(known.correction(1) == doctest::Approx(1.1));
}

TEST_CASE("large prompts weigh more than small ones, late ones more than early ones") {
  learned_usage known;
  // 98 % of one of 10,000 that was right, and one of 100 that was not: 10,100 / 9,900 of it.
  see_inputs(known, 1, 9'900, 9'900, 8);
  see_inputs(known, 1, 100, 200, 1);
  CHECK(known.correction(1) == doctest::Approx(1.0014).epsilon(0.001));
  see_inputs(known, 1, 9'900, 14'850, 400);
  CHECK(known.correction(1) == doctest::Approx(1.5).epsilon(0.001));
}

TEST_CASE("twenty answers make a quantile") {
  learned_usage known;
  CHECK(known.output_quantile(1, 0.95) == std::nullopt);
  for (int i = 0; i < 19; ++i) known.saw_output(1, 300, false);
  CHECK(known.output_quantile(1, 0.95) == std::nullopt);
  known.saw_output(1, 300, false);
  CHECK(known.output_quantile(1, 0.95) == 300);
  CHECK(known.output_quantile(2, 0.95) == std::nullopt);
}

TEST_CASE("one in twenty is longer than the 95 % quantile") {
  learned_usage known;
  // One of 3,000 in every fifty, the others of 200.
  for (int i = 0; i < 2'000; ++i) known.saw_output(1, i % 50 == 0 ? 3'000 : 200, false);
  CHECK(known.output_quantile(1, 0.5) == 200);
  CHECK(known.output_quantile(1, 0.95) == 200);
  CHECK(known.output_quantile(1, 1.0) == 3'000);
  // One in five.
  for (int i = 0; i < 2'000; ++i) known.saw_output(2, i % 5 == 0 ? 3'000 : 200, false);
  CHECK(known.output_quantile(2, 0.5) == 200);
  CHECK(known.output_quantile(2, 0.95) == 3'000);
}

TEST_CASE("answers that were cut count as the longer ones") {
  learned_usage known;
  for (int i = 0; i < 200; ++i) {
    known.saw_output(1, 100, true);
    known.saw_output(1, 800, false);
  }
  CHECK(known.output_quantile(1, 0.1) == 800);
}

TEST_CASE("lengths that are none are passed over, and an empty answer is a short one") {
  learned_usage known;
  for (int i = 0; i < 30; ++i) {
    known.saw_output(1, -1, false);
    known.saw_output(1, std::int64_t{1} << 41, false);
  }
  CHECK(known.output_quantile(1, 0.95) == std::nullopt);
  for (int i = 0; i < 30; ++i) known.saw_output(1, 0, false);
  CHECK(known.output_quantile(1, 0.95) == 1);
}

TEST_CASE("what was not heard of for longest gives its place") {
  learned_usage known;
  for (std::uint64_t model = 0; model < learned_usage::most_keys; ++model) see_inputs(known, model, 100, 150, 8);
  see_inputs(known, 0, 100, 150, 1);
  see_inputs(known, 1'000, 100, 150, 8);
  CHECK(known.correction(0) == doctest::Approx(1.5));
  CHECK(known.correction(1) == 1);
  CHECK(known.correction(2) == doctest::Approx(1.5));
  CHECK(known.correction(1'000) == doctest::Approx(1.5));
}

TEST_CASE("from several threads at once") {
  learned_usage known;
  std::vector<std::thread> threads;
  for (std::uint64_t who = 0; who < 4; ++who) {
    threads.emplace_back([&known, who] {
      for (int i = 0; i < 2'000; ++i) {
        known.saw_input(who % 2, 100, 150);
        known.saw_output(who % 2, 50, false);
        static_cast<void>(known.correction(1 - who % 2));
        static_cast<void>(known.output_quantile(1 - who % 2, 0.95));
      }
    });
  }
  for (std::thread& one : threads) one.join();
  CHECK(known.correction(0) == doctest::Approx(1.5));
  CHECK(known.output_quantile(1, 0.95) == 50);
}
