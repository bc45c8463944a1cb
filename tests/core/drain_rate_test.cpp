#include "core/drain_rate.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

constexpr instant at(std::chrono::milliseconds since) { return instant{} + since; }

double seconds(duration length) { return std::chrono::duration<double>(length).count(); }

/// Releases of one slot and 1,000 tokens, one each `apart`, while somebody waits from `from` on.
instant drain(drain_rate& rate, instant from, duration apart, int releases) {
  rate.busy(from, true);
  for (int release = 0; release < releases; ++release) rate.released(1, 1000, from += apart, true);
  return from;
}

}  // namespace

TEST_CASE("unknown until eight releases in busy time") {
  drain_rate rate;
  CHECK_FALSE(rate.estimate(1, 0, at(0ms)));
  // While nobody waits, releases say nothing.
  for (int release = 1; release <= 20; ++release) rate.released(1, 1000, at(release * 100ms), false);
  CHECK_FALSE(rate.estimate(1, 0, at(2s)));
  const instant now = drain(rate, at(2s), 500ms, 7);
  CHECK_FALSE(rate.estimate(1, 0, now));
  drain(rate, now, 500ms, 1);
  CHECK(rate.estimate(1, 0, now + 500ms));
}

TEST_CASE("a steady rate is what it is, on both axes") {
  drain_rate rate;
  const instant now = drain(rate, at(0ms), 500ms, 400);
  // 2 slots and 2,000 tokens a second, to within what the last release weighs more than the time before it: 1.7 %.
  CHECK(seconds(*rate.estimate(10, 0, now)) == doctest::Approx(5).epsilon(0.02));
  CHECK(seconds(*rate.estimate(0, 30'000, now)) == doctest::Approx(15).epsilon(0.02));
  // The later of the two.
  CHECK(seconds(*rate.estimate(10, 30'000, now)) == doctest::Approx(15).epsilon(0.02));
  CHECK(seconds(*rate.estimate(60, 30'000, now)) == doctest::Approx(30).epsilon(0.02));
  CHECK(*rate.estimate(0, 0, now) == duration::zero());
}

TEST_CASE("eight releases of one instant, by hand") {
  drain_rate rate;
  rate.busy(at(0ms), true);
  for (int release = 0; release < 8; ++release) rate.released(1, 0, at(10s), true);
  // After one half-life of busy time the time weighs 10 s / ln 2 * (1 - 1/2) = 7.2135 s.
  CHECK(seconds(*rate.estimate(8, 0, at(10s))) == doctest::Approx(7.2135).epsilon(1e-4));
  // A second half-life of silence: 4 slots, and 10 s / ln 2 * (1 - 1/4) = 10.8202 s.
  CHECK(seconds(*rate.estimate(8, 0, at(20s))) == doctest::Approx(21.6404).epsilon(1e-4));
  // The same when events come in between.
  rate.busy(at(13s), true);
  rate.busy(at(17s), true);
  CHECK(seconds(*rate.estimate(8, 0, at(20s))) == doctest::Approx(21.6404).epsilon(1e-4));
  // Tokens never came free.
  CHECK_FALSE(rate.estimate(0, 1, at(20s)));
}

TEST_CASE("no time has passed, no rate") {
  drain_rate rate;
  for (int release = 0; release < 8; ++release) rate.released(1, 1000, at(1s), true);
  CHECK_FALSE(rate.estimate(1, 0, at(1s)));
  CHECK(rate.estimate(1, 0, at(1100ms)));
}

TEST_CASE("idle time is left out") {
  drain_rate rate;
  const instant now = drain(rate, at(0ms), 500ms, 100);
  const auto before = rate.estimate(10, 0, now);
  rate.busy(now, false);
  // Releases while nobody waits, and nine seconds in which nobody does.
  rate.released(5, 5000, now + 4s, false);
  CHECK(rate.estimate(10, 0, now + 9s) == before);
  rate.busy(now + 9s, true);
  CHECK(rate.estimate(10, 0, now + 9s) == before);
  CHECK(*rate.estimate(10, 0, now + 10s) > *before);
}

TEST_CASE("after ten idle seconds nothing is known any more") {
  drain_rate rate;
  instant now = drain(rate, at(0ms), 100s, 20);
  CHECK(seconds(*rate.estimate(1, 0, now)) > 10);
  rate.busy(now, false);
  CHECK(rate.estimate(1, 0, now + 10s));
  CHECK_FALSE(rate.estimate(1, 0, now + 10001ms));
  now = drain(rate, now + 20s, 500ms, 7);
  CHECK_FALSE(rate.estimate(1, 0, now));
  // The bad hour is gone from the rate as well.
  now = drain(rate, now, 500ms, 1);
  CHECK(seconds(*rate.estimate(10, 0, now)) == doctest::Approx(5).epsilon(0.15));
}

TEST_CASE("a half-life of a new rate moves it half way") {
  drain_rate rate;
  const instant now = drain(rate, at(0ms), 100ms, 2000);
  CHECK(seconds(*rate.estimate(100, 0, now)) == doctest::Approx(10).epsilon(0.01));
  const instant later = drain(rate, now, 1s, 10);
  // Half of the weight at 10 slots a second, half at 1.
  CHECK(seconds(*rate.estimate(100, 0, later)) == doctest::Approx(100 / 5.5).epsilon(0.02));
}

TEST_CASE("tokens that come free while work runs on are no release of a slot") {
  drain_rate rate;
  rate.busy(at(0ms), true);
  for (int release = 1; release <= 20; ++release) rate.released(0, 1000, at(release * 100ms), true);
  CHECK_FALSE(rate.estimate(0, 1000, at(2s)));
  for (int release = 1; release <= 8; ++release) rate.released(1, 0, at(2s), true);
  // All 20,000 tokens in 2 s of busy time.
  CHECK(seconds(*rate.estimate(0, 10'000, at(2s))) == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("a silence of hours, and instants out of order") {
  drain_rate rate;
  const instant now = drain(rate, at(0ms), 500ms, 10);
  CHECK(*rate.estimate(1, 0, now + 24h) == duration::max());
  const auto before = rate.estimate(10, 10, now);
  rate.busy(now - 3s, true);
  CHECK(rate.estimate(10, 10, now) == before);
  CHECK(rate.estimate(10, 10, now - 1s) == before);
}
