#include "core/adaptive_limit.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

constexpr instant at(std::chrono::milliseconds since) { return instant{} + since; }

adaptive_policy rules(std::int64_t initial = 0) {
  return {.enabled = true, .minimum = 2, .initial = initial, .backoff = 0.5, .tolerance = 0, .window = 1s};
}

adaptive_limit limit_of(const adaptive_policy& chosen, std::int64_t slots) {
  adaptive_limit limit;
  limit.configure(chosen, slots);
  return limit;
}

constexpr service_sample second{1000, 100, 4096, 100ms, 1s};

/// `number` completions of a second each while the limit binds; how often the limit changed.
int complete(adaptive_limit& limit, int number, instant now) {
  int changes = 0;
  for (int done = 0; done < number; ++done) changes += limit.sample(second, limit.limit(), true, now) ? 1 : 0;
  return changes;
}

}  // namespace

TEST_CASE("off, the limit is the pool") {
  adaptive_limit limit = limit_of({}, 32);
  CHECK_FALSE(limit.enabled());
  CHECK(limit.limit() == 32);
  CHECK_FALSE(limit.signal(provider_signal::rate_limited, at(0ms)));
  CHECK(complete(limit, 100, at(1s)) == 0);
  CHECK(limit.limit() == 32);
  CHECK(limit.reason() == limit_change::none);
}

TEST_CASE("a signal shrinks it by the factor, once a window, and says why") {
  adaptive_limit limit = limit_of(rules(), 33);
  CHECK(limit.limit() == 33);
  CHECK(limit.signal(provider_signal::rate_limited, at(100ms)));
  CHECK(limit.limit() == 16);
  CHECK(limit.reason() == limit_change::rate_limited);
  for (int more = 0; more < 31; ++more) CHECK_FALSE(limit.signal(provider_signal::overloaded, at(1099ms)));
  CHECK(limit.limit() == 16);
  CHECK(limit.reason() == limit_change::rate_limited);
  CHECK(limit.signal(provider_signal::overloaded, at(1100ms)));
  CHECK(limit.limit() == 8);
  CHECK(limit.reason() == limit_change::overloaded);
  CHECK(limit.signal(provider_signal::timed_out, at(2100ms)));
  CHECK(limit.limit() == 4);
  CHECK(limit.reason() == limit_change::timed_out);
  CHECK(limit.signal(provider_signal::timed_out, at(3100ms)));
  CHECK(limit.limit() == 2);
  CHECK_FALSE(limit.signal(provider_signal::timed_out, at(4100ms)));
  CHECK(limit.limit() == 2);
}

TEST_CASE("it shrinks by at least one") {
  adaptive_policy gentle = rules();
  gentle.backoff = 0.99;
  adaptive_limit limit = limit_of(gentle, 5);
  CHECK(limit.signal(provider_signal::rate_limited, at(0ms)));
  CHECK(limit.limit() == 4);
}

TEST_CASE("at first it grows by one for each completion, at most to double") {
  adaptive_limit limit = limit_of(rules(4), 64);
  CHECK(limit.limit() == 4);
  // The first at once; what completes within the window is added up.
  CHECK(complete(limit, 4, at(1s)) == 1);
  CHECK(limit.limit() == 5);
  CHECK(limit.reason() == limit_change::slow_start);
  CHECK(complete(limit, 2, at(2s)) == 1);
  // 3 of the first second and one of the next; then one more is left over.
  CHECK(limit.limit() == 9);
  CHECK(complete(limit, 100, at(2900ms)) == 0);
  CHECK(complete(limit, 1, at(3s)) == 1);
  CHECK(limit.limit() == 18);
  CHECK(complete(limit, 100, at(3500ms)) == 0);
  CHECK(complete(limit, 1, at(4s)) == 1);
  CHECK(limit.limit() == 36);
  CHECK(complete(limit, 100, at(4500ms)) == 0);
  CHECK(complete(limit, 1, at(5s)) == 1);
  CHECK(limit.limit() == 64);
  CHECK(complete(limit, 100, at(6s)) == 0);
}

TEST_CASE("it does not grow while work waits for something else") {
  adaptive_limit limit = limit_of(rules(4), 64);
  for (int done = 0; done < 1000; ++done) CHECK_FALSE(limit.sample(second, 3, false, at(done * 100ms)));
  CHECK(limit.limit() == 4);
}

TEST_CASE("after trouble it grows back quickly to nine tenths, then by one per limit completions") {
  adaptive_limit limit = limit_of(rules(), 20);
  CHECK(limit.signal(provider_signal::rate_limited, at(0ms)));
  CHECK(limit.limit() == 10);
  // Work that started before is no measure of the new limit.
  CHECK(complete(limit, 50, at(999ms)) == 0);
  CHECK(complete(limit, 1, at(1s)) == 1);
  CHECK(limit.limit() == 11);
  CHECK(limit.reason() == limit_change::slow_start);
  CHECK(complete(limit, 10, at(1500ms)) == 0);
  CHECK(complete(limit, 1, at(2s)) == 1);
  CHECK(limit.limit() == 18);
  CHECK(complete(limit, 17, at(3s)) == 0);
  CHECK(complete(limit, 1, at(3s)) == 1);
  CHECK(limit.limit() == 19);
  CHECK(limit.reason() == limit_change::probe);
  CHECK(complete(limit, 18, at(4s)) == 0);
  CHECK(complete(limit, 1, at(4s)) == 1);
  CHECK(limit.limit() == 20);
}

TEST_CASE("a large limit probes in sixteenths of the place of the last trouble, up to just below it") {
  adaptive_limit limit = limit_of(rules(), 64);
  CHECK(limit.signal(provider_signal::rate_limited, at(0ms)));
  complete(limit, 32, at(1500ms));
  complete(limit, 1, at(3s));
  CHECK(limit.limit() == 58);
  std::chrono::milliseconds now = 3s;
  for (const std::int64_t next : {62, 63, 64}) {
    CHECK(complete(limit, static_cast<int>(limit.limit()) - 1, at(now += 1s)) == 0);
    CHECK(complete(limit, 1, at(now)) == 1);
    CHECK(limit.limit() == next);
    CHECK(limit.reason() == limit_change::probe);
  }
}

TEST_CASE("the step that failed before is tried more patiently each time, up to three times") {
  adaptive_limit limit = limit_of(rules(9), 64);
  // Trouble at 9; safe is 8, one below.
  std::chrono::milliseconds now = 0ms;
  for (const int patience : {1, 2, 3, 3}) {
    CHECK(limit.limit() == 9);
    CHECK(limit.signal(provider_signal::rate_limited, at(now += 10s)));
    CHECK(limit.limit() == 4);
    complete(limit, 10, at(now += 1500ms));
    complete(limit, 1, at(now += 1s));
    CHECK(limit.limit() == 8);
    CHECK(complete(limit, 8 * patience - 1, at(now += 1s)) == 0);
    CHECK(complete(limit, 1, at(now)) == 1);
  }
}

TEST_CASE("beyond the place of the last trouble it grows by a quarter: there is more room than there was") {
  adaptive_limit limit = limit_of(rules(16), 64);
  CHECK(limit.signal(provider_signal::overloaded, at(0ms)));
  CHECK(limit.limit() == 8);
  complete(limit, 9, at(1500ms));
  complete(limit, 1, at(3s));
  CHECK(limit.limit() == 15);
  complete(limit, 15, at(4s));
  CHECK(limit.limit() == 16);
  CHECK(limit.reason() == limit_change::probe);
  CHECK(complete(limit, 15, at(5s)) == 0);
  CHECK(complete(limit, 1, at(5s)) == 1);
  CHECK(limit.limit() == 20);
  CHECK(limit.reason() == limit_change::slow_start);
  CHECK(complete(limit, 20, at(6s)) == 1);
  CHECK(limit.limit() == 25);
}

TEST_CASE("trouble at the minimum is not its doing: afterwards it grows as at first") {
  adaptive_limit limit = limit_of(rules(), 32);
  for (int signal = 0; signal < 6; ++signal) limit.signal(provider_signal::timed_out, at(signal * 1s));
  CHECK(limit.limit() == 2);
  complete(limit, 2, at(7s));
  complete(limit, 2, at(8s));
  CHECK(limit.limit() == 5);
  complete(limit, 5, at(9s));
  CHECK(limit.limit() == 7);
  complete(limit, 7, at(10s));
  CHECK(limit.limit() == 12);
}

TEST_CASE("fast failures and completions without usage are no samples") {
  adaptive_limit limit = limit_of(rules(4), 64);
  for (int done = 0; done < 100; ++done) {
    CHECK_FALSE(limit.sample({1000, 100, 0, 1ms, 1999us}, 4, true, at(done * 1s)));
    CHECK_FALSE(limit.sample({1000, 0, 0, 1ms, 1s}, 4, true, at(done * 1s)));
  }
  CHECK(limit.limit() == 4);
}

TEST_CASE("another policy keeps what is known, within the new bounds") {
  adaptive_limit limit = limit_of(rules(), 32);
  // Never hindered, it follows the pool.
  limit.configure(rules(), 48);
  CHECK(limit.limit() == 48);
  CHECK(limit.reason() == limit_change::reconfigured);
  CHECK(limit.signal(provider_signal::rate_limited, at(0ms)));
  CHECK(limit.limit() == 24);
  limit.configure(rules(), 64);
  CHECK(limit.limit() == 24);
  CHECK(limit.reason() == limit_change::rate_limited);
  limit.configure(rules(), 10);
  CHECK(limit.limit() == 10);
  limit.configure(rules(), 1);
  CHECK(limit.limit() == 1);
  limit.configure(rules(), 0);
  CHECK(limit.limit() == 0);
  CHECK_FALSE(limit.signal(provider_signal::rate_limited, at(5s)));
  adaptive_policy raised = rules();
  raised.minimum = 12;
  limit.configure(raised, 40);
  CHECK(limit.limit() == 40);
  adaptive_policy off = rules();
  off.enabled = false;
  limit.configure(off, 40);
  CHECK(limit.limit() == 40);
  limit.configure(rules(6), 40);
  CHECK(limit.limit() == 6);
}

TEST_CASE("instants out of order count as the latest") {
  adaptive_limit limit = limit_of(rules(), 32);
  CHECK(limit.signal(provider_signal::rate_limited, at(10s)));
  CHECK_FALSE(limit.signal(provider_signal::rate_limited, at(0ms)));
  CHECK(limit.limit() == 16);
}
