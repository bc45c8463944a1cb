#include <sluice/sim/traffic.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;

namespace {

// How many arrive in each of `count` windows.
std::vector<double> counts(arrival_process arrivals, sluice::duration window, std::size_t count) {
  std::vector<double> in(count, 0);
  for (instant at = arrivals.next(); at < instant{} + window * count; at = arrivals.next()) {
    in[static_cast<std::size_t>((at - instant{}) / window)] += 1;
  }
  return in;
}

double mean(const std::vector<double>& of) {
  double sum = 0;
  for (const double each : of) sum += each;
  return sum / static_cast<double>(of.size());
}

// Variance by mean: 1 when arrivals know nothing of each other.
double dispersion(const std::vector<double>& of) {
  const double middle = mean(of);
  double squares = 0;
  for (const double each : of) squares += (each - middle) * (each - middle);
  return squares / static_cast<double>(of.size()) / middle;
}

double median(std::vector<std::int64_t> of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return static_cast<double>(of[of.size() / 2]);
}

}  // namespace

TEST_CASE("arrivals that know nothing of each other have their rate, and vary as much as their mean") {
  const auto in = counts(arrival_process::poisson(6, 3), 10s, 2'000);
  CHECK(mean(in) == doctest::Approx(60).epsilon(0.01));
  CHECK(dispersion(in) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("bursts have the mean of their states, and vary far more") {
  const auto in = counts(arrival_process::bursts(2, 20s, 20, 5s, 3), 10s, 5'000);
  // (2 * 20 + 20 * 5) / 25 a second.
  CHECK(mean(in) == doctest::Approx(56).epsilon(0.05));
  CHECK(dispersion(in) > 10);
}

TEST_CASE("traffic that is on and off leaves stretches without any") {
  const auto in = counts(arrival_process::on_off(10, 10s, 30s, 5), 10s, 5'000);
  CHECK(mean(in) == doctest::Approx(25).epsilon(0.05));
  const auto empty = static_cast<double>(std::count(in.begin(), in.end(), 0.0)) / static_cast<double>(in.size());
  CHECK(empty > 0.4);
  CHECK(empty < 0.7);
}

TEST_CASE("arrivals never stand still, and are the same for a seed") {
  auto a = arrival_process::bursts(1, 1s, 1'000'000'000, 1ms, 9);
  auto b = arrival_process::bursts(1, 1s, 1'000'000'000, 1ms, 9);
  auto other = arrival_process::bursts(1, 1s, 1'000'000'000, 1ms, 10);
  instant before{};
  bool differs = false;
  for (int i = 0; i < 10'000; ++i) {
    const instant at = a.next();
    REQUIRE(at > before);
    REQUIRE(at == b.next());
    differs = differs || other.next() != at;
    before = at;
  }
  CHECK(differs);
}

TEST_CASE("a normal number has mean 0 and variance 1, a third of it beyond one deviation") {
  sluice::sim::random draw(11);
  double sum = 0;
  double squares = 0;
  int beyond = 0;
  constexpr int many = 200'000;
  for (int i = 0; i < many; ++i) {
    const double drawn = standard_normal(draw);
    sum += drawn;
    squares += drawn * drawn;
    if (std::abs(drawn) > 1) ++beyond;
  }
  CHECK(std::abs(sum / many) < 0.01);
  CHECK(squares / many == doctest::Approx(1).epsilon(0.01));
  CHECK(static_cast<double>(beyond) / many == doctest::Approx(0.3173).epsilon(0.02));
}

TEST_CASE("a lognormal size keeps its median and its bounds") {
  sluice::sim::random draw(5);
  constexpr lognormal_size chars{1'200, 0.75, 150, 4'800};
  std::vector<std::int64_t> drawn;
  for (int i = 0; i < 50'000; ++i) drawn.push_back(chars.draw_from(draw));
  CHECK(median(drawn) == doctest::Approx(1'200).epsilon(0.02));
  const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
  CHECK(*least >= 150);
  CHECK(*most == 4'800);
  constexpr lognormal_size always{24'000, 0, 24'000, 24'000};
  CHECK(always.draw_from(draw) == 24'000);
}

TEST_CASE("a distribution by quantiles is straight between them") {
  sluice::sim::random draw(5);
  const quantile_size sizes({0, 100, 1'000});
  int low = 0;
  std::vector<std::int64_t> upper;
  for (int i = 0; i < 100'000; ++i) {
    const auto drawn = sizes.draw_from(draw);
    REQUIRE(drawn >= 0);
    REQUIRE(drawn <= 1'000);
    if (drawn <= 100)
      ++low;
    else
      upper.push_back(drawn);
  }
  CHECK(low == doctest::Approx(50'000).epsilon(0.02));
  CHECK(median(upper) == doctest::Approx(550).epsilon(0.02));
}

TEST_CASE("a generated replay has the shape of the recorded ones") {
  std::vector<std::int64_t> chars;
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> outputs;
  std::size_t capped = 0;
  std::size_t chats = 0;
  std::size_t documents = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    instant before{};
    for (const auto& each : replay_like(seed)) {
      REQUIRE(each.arrival >= before);
      before = each.arrival;
      for (const auto& attempt : each.attempts) {
        REQUIRE(attempt.jitter >= 0.5);
        REQUIRE(attempt.jitter < 1.5);
        REQUIRE(attempt.output_tokens >= 1);
        REQUIRE(attempt.output_tokens <= each.max_tokens);
        const double ratio = static_cast<double>(each.input_chars) / static_cast<double>(attempt.input_tokens);
        REQUIRE(ratio == doctest::Approx(3.6).epsilon(0.055));
      }
      if (each.workload == batch) {
        ++documents;
        REQUIRE(each.arrival >= instant{} + 15'750ms);
        REQUIRE(each.arrival < instant{} + 38'250ms);
        REQUIRE(each.estimate().tokens == 9'000);
        continue;
      }
      ++chats;
      REQUIRE(each.arrival < instant{} + 45s);
      chars.push_back(each.input_chars);
      tokens.push_back(each.max_tokens);
      outputs.push_back(each.attempts[0].output_tokens);
      if (each.attempts[0].output_tokens == each.max_tokens) ++capped;
    }
  }
  CHECK(static_cast<double>(chats) / 50 == doctest::Approx(270).epsilon(0.03));
  CHECK(static_cast<double>(documents) / 50 == doctest::Approx(67.5).epsilon(0.05));
  CHECK(median(chars) == doctest::Approx(1'200).epsilon(0.03));
  CHECK(median(tokens) == doctest::Approx(400).epsilon(0.03));
  // In the recorded ones: 170 tokens of output, 28 % of them cut off.
  CHECK(median(outputs) == doctest::Approx(170).epsilon(0.05));
  CHECK(static_cast<double>(capped) / static_cast<double>(chats) == doctest::Approx(0.28).epsilon(0.1));
}

TEST_CASE("generated traces are the same for a seed, and others for another") {
  const auto a = replay_like(6);
  const auto b = replay_like(6);
  const auto c = replay_like(7);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].arrival == b[i].arrival);
    REQUIRE(a[i].attempts[3].output_tokens == b[i].attempts[3].output_tokens);
  }
  CHECK(a.front().arrival != c.front().arrival);
}

TEST_CASE("a generated Azure hour has the rates and lengths of the recorded one") {
  const auto chats = azure_chats_like(1h, 1);
  CHECK(static_cast<double>(chats.size()) == doctest::Approx(19'800).epsilon(0.03));
  std::vector<std::int64_t> inputs;
  for (const auto& each : chats) inputs.push_back(each.input_tokens);
  CHECK(median(inputs) == doctest::Approx(1'020).epsilon(0.05));
  std::vector<double> sizes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sizes.push_back(static_cast<double>(azure_code_like(1h, seed).size()));
  }
  CHECK(mean(sizes) == doctest::Approx(9'257).epsilon(0.05));
}
