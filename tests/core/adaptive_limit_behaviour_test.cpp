#include "core/toy_provider.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

constexpr instant at(std::chrono::milliseconds since) { return instant{} + since; }

adaptive_policy rules(std::int64_t initial = 0) {
  return {.enabled = true, .minimum = 1, .initial = initial, .backoff = 0.7, .tolerance = 0, .window = 1s};
}

adaptive_limit limit_of(const adaptive_policy& chosen, std::int64_t slots) {
  adaptive_limit limit;
  limit.configure(chosen, slots);
  return limit;
}

/// From 10 to `longest` tokens of 2 s / `longest` each, so that a service time is about a second.
auto lengths(std::int64_t longest) {
  return [longest](std::mt19937_64& draw, std::int64_t, instant) {
    const auto output = 10 + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(longest - 10));
    const duration each = duration(2s) / longest;
    return service_sample{1000, output, longest, 100ms, 100ms + output * each};
  };
}

}  // namespace

TEST_CASE("finds a capacity within ten service times, and uses nine tenths of it from then on") {
  for (const std::int64_t there : {8, 16, 32, 100, 400}) {
    for (const std::int64_t initial : {there / 8, std::int64_t{512}}) {
      adaptive_limit limit = limit_of(rules(initial), 512);
      toy_provider provider(limit);
      provider.capacity = [there](instant) { return there; };
      provider.take = lengths(1000);
      provider.run_until(at(11s));
      INFO("capacity " << there << ", from " << initial << ", limit " << limit.limit());
      CHECK(provider.seen().converged <= at(11s));
      provider.reset();
      provider.run_until(at(211s));
      INFO("utilisation " << provider.seen().utilisation() << ", refused " << provider.seen().refused << " of "
                          << provider.seen().completed << ", limit " << limit.limit() << ", over "
                          << provider.seen().over);
      CHECK(provider.seen().utilisation() >= 0.9);
      CHECK(provider.seen().refused <= provider.seen().completed / 20);
      CHECK(provider.seen().over <= 60);
    }
  }
}

TEST_CASE("follows a capacity that halves and returns") {
  for (const std::int64_t there : {16, 32, 64, 200}) {
    adaptive_limit limit = limit_of(rules(), there);
    toy_provider provider(limit);
    provider.capacity = [there](instant now) { return now >= at(60s) && now < at(180s) ? there / 2 : there; };
    provider.take = lengths(1000);
    provider.run_until(at(60s));
    INFO("capacity " << there);
    // Ten service times after the fall the limit is where the capacity is, and it stays used.
    provider.run_until(at(71s));
    CHECK(limit.limit() <= there / 2 + std::max<std::int64_t>(1, there / 20));
    provider.reset();
    provider.run_until(at(180s));
    INFO("halved: utilisation " << provider.seen().utilisation());
    CHECK(provider.seen().utilisation() >= 0.9);
    provider.reset();
    provider.run_until(at(200s));
    INFO("converged " << (provider.seen().converged - at(180s)) / 1ms << " ms after it returned");
    CHECK(provider.seen().converged <= at(191s));
    provider.reset();
    provider.run_until(at(300s));
    INFO("returned: utilisation " << provider.seen().utilisation());
    CHECK(provider.seen().utilisation() >= 0.9);
  }
}

TEST_CASE("everything times out after the same five seconds: it shrinks to the minimum") {
  adaptive_policy careful = rules();
  careful.tolerance = 1.5;
  careful.minimum = 2;
  adaptive_limit limit = limit_of(careful, 64);
  toy_provider provider(limit);
  provider.times_out = true;
  provider.take = [](std::mt19937_64&, std::int64_t, instant) { return service_sample{1000, 100, 100, 1s, 5s}; };
  provider.run_until(at(60s));
  CHECK(limit.limit() == 2);
  CHECK(limit.reason() == limit_change::timed_out);
  // And comes back when the provider does.
  provider.times_out = false;
  provider.take = lengths(1000);
  provider.run_until(at(66s));
  provider.reset();
  provider.run_until(at(80s));
  CHECK(provider.seen().converged <= at(76s));
}

TEST_CASE("outputs of 10 or 3,000 tokens at the same speed change nothing") {
  adaptive_policy careful = rules(20);
  careful.tolerance = 1.3;
  adaptive_limit limit = limit_of(careful, 32);
  toy_provider provider(limit);
  // Fewer at first, so that a baseline of less in flight is there to compare with.
  provider.demand = [](instant now) { return now < at(100s) ? std::int64_t{4} : std::int64_t{18}; };
  provider.take = [](std::mt19937_64& draw, std::int64_t, instant now) {
    const std::int64_t output = now < at(100s) || draw() % 2 == 0 ? 10 + static_cast<std::int64_t>(draw() % 100) : 3000;
    const auto input = static_cast<std::int64_t>(100 + draw() % 20'000);
    const duration first = 300ms + input * 50us;
    return service_sample{input, output, 4096, first, first + output * 10ms};
  };
  provider.run_until(at(2000s));
  CHECK(provider.seen().completed > 500);
  CHECK(limit.limit() == 20);
  CHECK(limit.reason() == limit_change::none);
}

namespace {

/// Both speeds fall in proportion to what is in flight beyond the knee, which moves from 24 to 12 after 300 s.
service_sample beyond_knee(std::mt19937_64& draw, std::int64_t in_flight, instant now) {
  const double knee = now < at(300s) ? 24 : 12;
  const double slowness = std::max(1.0, static_cast<double>(in_flight) / knee);
  const auto input = static_cast<std::int64_t>(500 + draw() % 4000);
  const auto output = static_cast<std::int64_t>(10 + draw() % 300);
  const auto first = duration(static_cast<std::int64_t>((50e6 + 1e5 * static_cast<double>(input)) * slowness));
  const auto rest = duration(static_cast<std::int64_t>(5e6 * static_cast<double>(output) * slowness));
  return {input, output, 4096, first, first + rest};
}

}  // namespace

TEST_CASE("a knee is found by the speeds alone, and followed when it moves") {
  adaptive_policy careful = rules();
  careful.tolerance = 1.5;
  adaptive_limit limit = limit_of(careful, 128);
  toy_provider provider(limit);
  provider.capacity = [](instant) { return std::int64_t{1000}; };
  provider.demand = [](instant now) { return now < at(20s) ? std::int64_t{4} : std::int64_t{1000}; };
  provider.take = beyond_knee;
  provider.run_until(at(40s));
  std::int64_t lowest = 128;
  std::int64_t highest = 0;
  const auto watch = [&](std::chrono::milliseconds from, std::chrono::milliseconds to) {
    lowest = 128;
    highest = 0;
    for (auto now = from; now <= to; now += 1s) {
      provider.run_until(at(now));
      lowest = std::min(lowest, limit.limit());
      highest = std::max(highest, limit.limit());
    }
  };
  // 1.5 times the knee is 36, then 18.
  watch(80s, 300s);
  INFO("between " << lowest << " and " << highest);
  CHECK(lowest >= 24);
  CHECK(highest <= 45);
  watch(330s, 600s);
  INFO("then between " << lowest << " and " << highest);
  CHECK(lowest >= 12);
  CHECK(highest <= 24);
}

namespace {

/// Four times as slow from 100 s on, whatever is in flight.
service_sample slower_for_good(std::mt19937_64& draw, std::int64_t, instant now) {
  const std::int64_t slowness = now < at(100s) ? 1 : 4;
  const auto output = static_cast<std::int64_t>(10 + draw() % 300);
  return {1000, output, 4096, slowness * 200ms, slowness * (200ms + output * 5ms)};
}

}  // namespace

TEST_CASE("slower with no more in flight than when all was well is not its doing") {
  adaptive_policy careful = rules();
  careful.tolerance = 1.5;
  adaptive_limit limit = limit_of(careful, 10);
  toy_provider provider(limit);
  provider.demand = [](instant) { return std::int64_t{1}; };
  provider.take = slower_for_good;
  provider.run_until(at(600s));
  CHECK(provider.seen().completed > 200);
  CHECK(limit.limit() == 10);
  CHECK(limit.reason() == limit_change::none);
}

TEST_CASE("when less in flight does not make it faster, that is how it is now, and it grows again") {
  adaptive_policy careful = rules();
  careful.tolerance = 1.5;
  adaptive_limit limit = limit_of(careful, 10);
  toy_provider provider(limit);
  provider.demand = [](instant now) { return now < at(50s) ? std::int64_t{2} : std::int64_t{8}; };
  provider.take = slower_for_good;
  provider.run_until(at(100s));
  CHECK(limit.limit() == 10);
  provider.run_until(at(120s));
  CHECK(limit.limit() < 8);
  CHECK(limit.reason() == limit_change::slower);
  provider.run_until(at(400s));
  CHECK(limit.limit() >= 8);
}
