#include "llm/routes/latency_quantile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

using namespace std::chrono_literals;
using sluice::duration;
using sluice::llm::detail::latency_quantile;

namespace {

double seconds(duration length) { return std::chrono::duration<double>(length).count(); }

}  // namespace

TEST_CASE("nothing is known at first") {
  const latency_quantile none;
  CHECK(none.samples() == 0);
  CHECK(none.quantile(0.95) == duration::zero());
}

TEST_CASE("a single length is given back to an eighth of itself, whatever its size") {
  for (const duration length : {duration(0), duration(1us), duration(7us), duration(8us), duration(999us),
                                duration(12ms), duration(1s), duration(95s), duration(3h)}) {
    latency_quantile seen;
    for (int i = 0; i < 10; ++i) seen.add(length);
    for (const double share : {0.0, 0.5, 1.0}) {
      CHECK(seconds(seen.quantile(share)) >= seconds(length) * 0.888 - 1e-6);
      CHECK(seconds(seen.quantile(share)) <= seconds(length) * 1.126 + 1.1e-6);
    }
  }
}

TEST_CASE("negative lengths and ones beyond all bounds are counted at the ends") {
  latency_quantile seen;
  seen.add(-1s);
  CHECK(seen.quantile(1) <= duration(1us));
  seen.add(duration::max());
  CHECK(seen.quantile(1) > duration(12h));
  CHECK(seen.samples() == 2);
}

TEST_CASE("quantiles are those of the sorted samples, to an eighth") {
  std::mt19937_64 random(7);
  latency_quantile seen(1e9);
  std::vector<double> all;
  for (int i = 0; i < 20'000; ++i) {
    const double length = std::exp(static_cast<double>(random() % 1'000) / 150.0) * 1e-3;
    all.push_back(length);
    seen.add(duration(static_cast<duration::rep>(length * 1e9)));
  }
  std::sort(all.begin(), all.end());
  double before = 0;
  for (const double share : {0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999}) {
    const double right = all[static_cast<std::size_t>(share * 20'000.0) - 1];
    CHECK(seconds(seen.quantile(share)) == doctest::Approx(right).epsilon(0.125));
    CHECK(seconds(seen.quantile(share)) >= before);
    before = seconds(seen.quantile(share));
  }
}

TEST_CASE("old lengths are forgotten") {
  latency_quantile seen(200);
  for (int i = 0; i < 10'000; ++i) seen.add(100ms);
  for (int i = 0; i < 100; ++i) seen.add(2s);
  // A hundred of two hundred have come since: 1 - (1 - 1/200)^100 is 39 % of the weight.
  CHECK(seen.quantile(0.55) < duration(120ms));
  CHECK(seen.quantile(0.65) > duration(1900ms));
  for (int i = 0; i < 1'000; ++i) seen.add(2s);
  CHECK(seen.quantile(0.05) > duration(1900ms));
}

TEST_CASE("weights do not run away") {
  latency_quantile seen(10);
  for (int i = 0; i < 1'000'000; ++i) seen.add(i % 2 == 0 ? 10ms : 20ms);
  CHECK(seen.samples() == 1'000'000);
  CHECK(seconds(seen.quantile(0.25)) == doctest::Approx(0.010).epsilon(0.13));
  CHECK(seconds(seen.quantile(0.95)) == doctest::Approx(0.020).epsilon(0.13));
}
