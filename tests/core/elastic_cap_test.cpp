#include "core/elastic_cap.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

constexpr instant at(std::chrono::milliseconds since) { return instant{} + since; }
constexpr duration nobody{-1};

/// Halves, target 500 ms, windows of 1 s, never below 2.
elastic_policy rules() { return {.enabled = true, .minimum = 2, .backoff = 0.5, .target = 500ms, .window = 1s}; }

/// At `ceiling`, last changed at `at(0ms)`, with somebody above at that time.
elastic_cap at_ceiling(std::int64_t ceiling) {
  elastic_policy eager = rules();
  eager.minimum = ceiling;
  elastic_cap cap;
  cap.configure(eager, ceiling);
  CHECK_FALSE(cap.update(0ms, false, at(0ms)));
  cap.configure(rules(), ceiling);
  return cap;
}

/// At the minimum of 2, since somebody above was seen at `at(0ms)`.
elastic_cap at_minimum(std::int64_t ceiling) {
  elastic_cap cap;
  cap.configure(rules(), ceiling);
  CHECK(cap.update(0ms, false, at(0ms)));
  CHECK(cap.cap() == 2);
  return cap;
}

}  // namespace

TEST_CASE("off, the cap is the ceiling") {
  elastic_cap cap;
  cap.configure({}, 12);
  CHECK_FALSE(cap.enabled());
  CHECK(cap.cap() == 12);
  CHECK(cap.reason() == limit_change::none);
  CHECK(cap.next_update() == never);
  cap.observe_first_token(1h, at(0ms));
  CHECK_FALSE(cap.update(1h, true, at(1s)));
  CHECK(cap.cap() == 12);
  cap.configure({}, 8);
  CHECK(cap.cap() == 8);
  CHECK(cap.reason() == limit_change::reconfigured);
}

TEST_CASE("begins at the ceiling, falls to the minimum at first sight of somebody above, and rises by one a window") {
  elastic_cap cap;
  cap.configure(rules(), 12);
  CHECK(cap.enabled());
  CHECK(cap.cap() == 12);
  CHECK(cap.reason() == limit_change::none);
  CHECK_FALSE(cap.update(nobody, true, at(0ms)));
  CHECK(cap.cap() == 12);
  CHECK(cap.update(0ms, false, at(100ms)));
  CHECK(cap.cap() == 2);
  CHECK(cap.reason() == limit_change::pressure);
  CHECK(cap.next_update() == at(1100ms));
  CHECK_FALSE(cap.update(0ms, true, at(1099ms)));
  CHECK(cap.update(0ms, true, at(1100ms)));
  CHECK(cap.cap() == 3);
  CHECK(cap.reason() == limit_change::probe);
  CHECK(cap.update(0ms, true, at(2100ms)));
  CHECK(cap.cap() == 4);
}

TEST_CASE("a first token above is a first sight too") {
  elastic_cap cap;
  cap.configure(rules(), 12);
  cap.observe_first_token(10ms, at(50ms));
  CHECK(cap.update(nobody, true, at(60ms)));
  CHECK(cap.cap() == 2);
}

TEST_CASE(
    "with a pause it may fall to zero for so long, then the minimum is back until trouble has been away as long") {
  elastic_policy pausing = rules();
  pausing.minimum = 1;
  pausing.pause = 10s;
  elastic_cap cap;
  cap.configure(pausing, 4);
  CHECK(cap.update(0ms, true, at(0ms)));
  CHECK(cap.cap() == 1);
  CHECK(cap.update(501ms, true, at(1s)));
  CHECK(cap.cap() == 0);
  CHECK(cap.reason() == limit_change::pressure);
  CHECK_FALSE(cap.update(9s, true, at(10'999ms)));
  CHECK(cap.cap() == 0);
  CHECK(cap.update(9s, true, at(11s)));
  CHECK(cap.cap() == 1);
  // Still in trouble: no second pause.
  CHECK_FALSE(cap.update(9s, true, at(13s)));
  CHECK(cap.cap() == 1);
  // Ten seconds without any: then it may pause again.
  CHECK_FALSE(cap.update(0ms, false, at(23s)));
  CHECK(cap.update(501ms, true, at(24s)));
  CHECK(cap.cap() == 0);
}

TEST_CASE("falls while an older waiter above suffers, once a window, not below the minimum") {
  elastic_cap cap = at_ceiling(13);
  CHECK(cap.cap() == 13);
  // Just as old as the target is no harm.
  CHECK_FALSE(cap.update(500ms, true, at(10ms)));
  CHECK(cap.update(501ms, true, at(20ms)));
  CHECK(cap.cap() == 6);
  CHECK(cap.reason() == limit_change::pressure);
  CHECK_FALSE(cap.update(900ms, true, at(1019ms)));
  CHECK(cap.update(900ms, true, at(1020ms)));
  CHECK(cap.cap() == 3);
  CHECK(cap.update(2s, true, at(3s)));
  CHECK(cap.cap() == 2);
  CHECK_FALSE(cap.update(2s, true, at(5s)));
  CHECK(cap.cap() == 2);
  // A rise waits for a window without trouble.
  CHECK_FALSE(cap.update(0ms, true, at(5500ms)));
  CHECK(cap.update(0ms, true, at(6s)));
  CHECK(cap.cap() == 3);
}

TEST_CASE("falls by at least one") {
  elastic_policy gentle = rules();
  gentle.backoff = 0.99;
  gentle.minimum = 5;
  elastic_cap cap;
  cap.configure(gentle, 5);
  CHECK_FALSE(cap.update(0ms, true, at(0ms)));
  gentle.minimum = 1;
  cap.configure(gentle, 5);
  CHECK(cap.cap() == 5);
  CHECK(cap.update(1s, true, at(1s)));
  CHECK(cap.cap() == 4);
}

TEST_CASE("falls when first tokens come late on average") {
  elastic_cap cap = at_ceiling(12);
  cap.observe_first_token(100ms, at(1s));
  CHECK_FALSE(cap.update(nobody, false, at(1s)));
  // 100 + 1,600 / 8 = 300, then 300 + 2,000 / 8 = 550.
  cap.observe_first_token(1'700ms, at(2s));
  CHECK_FALSE(cap.update(nobody, false, at(2s)));
  cap.observe_first_token(2'300ms, at(3s));
  CHECK(cap.update(nobody, false, at(3s)));
  CHECK(cap.cap() == 6);
  CHECK(cap.reason() == limit_change::pressure);
  // No news since: it neither falls further nor rises.
  CHECK_FALSE(cap.update(nobody, true, at(5s)));
  // 550 - 550 / 8 = 481.25: all is well again.
  cap.observe_first_token(0ms, at(6s));
  CHECK(cap.update(nobody, true, at(6s)));
  CHECK(cap.cap() == 7);
}

TEST_CASE("stays when the class waits for something else, and at the ceiling") {
  elastic_cap cap = at_ceiling(12);
  CHECK_FALSE(cap.update(nobody, true, at(2s)));
  CHECK(cap.update(1s, true, at(3s)));
  CHECK(cap.cap() == 6);
  for (int window = 1; window <= 20; ++window) CHECK_FALSE(cap.update(0ms, false, at(3s + window * 1s)));
  CHECK(cap.cap() == 6);
}

TEST_CASE("doubles when nothing above has been seen for ten windows") {
  elastic_cap cap = at_minimum(30);
  CHECK(cap.update(nobody, true, at(9'999ms)));
  CHECK(cap.cap() == 3);
  CHECK(cap.update(nobody, true, at(11s)));
  CHECK(cap.cap() == 6);
  CHECK(cap.reason() == limit_change::slow_start);
  CHECK(cap.update(nobody, true, at(12s)));
  CHECK(cap.update(nobody, true, at(13s)));
  CHECK(cap.cap() == 24);
  CHECK(cap.update(nobody, true, at(14s)));
  CHECK(cap.cap() == 30);
  CHECK_FALSE(cap.update(nobody, true, at(15s)));
}

TEST_CASE("a waiter above is somebody who could be hurt, though its first token is still to come") {
  elastic_cap cap = at_minimum(30);
  CHECK_FALSE(cap.update(1ms, false, at(5s)));
  CHECK(cap.update(nobody, true, at(14'999ms)));
  CHECK(cap.cap() == 3);
  CHECK(cap.update(nobody, true, at(16s)));
  CHECK(cap.cap() == 6);
}

TEST_CASE("a late first token is forgotten after ten quiet windows") {
  elastic_cap cap = at_ceiling(16);
  cap.observe_first_token(100ms, at(500ms));
  cap.observe_first_token(5s, at(1s));
  CHECK(cap.update(nobody, true, at(1s)));
  CHECK(cap.cap() == 8);
  CHECK_FALSE(cap.update(nobody, true, at(10'999ms)));
  CHECK(cap.update(nobody, true, at(11s)));
  CHECK(cap.cap() == 16);
  // And does not weigh on the next average.
  cap.observe_first_token(300ms, at(12s));
  CHECK_FALSE(cap.update(nobody, true, at(12s)));
  CHECK(cap.cap() == 16);
}

TEST_CASE("another policy keeps the cap within its bounds") {
  elastic_cap cap = at_ceiling(12);
  cap.configure(rules(), 7);
  CHECK(cap.cap() == 7);
  CHECK(cap.reason() == limit_change::reconfigured);
  cap.configure(rules(), 20);
  CHECK(cap.cap() == 7);
  cap.configure(rules(), 1);
  CHECK(cap.cap() == 1);
  elastic_policy off = rules();
  off.enabled = false;
  cap.configure(off, 20);
  CHECK(cap.cap() == 20);
  cap.configure(rules(), 20);
  CHECK(cap.cap() == 20);
}

TEST_CASE("doubles at once when nothing above runs or waits, and is not kept below its minimum") {
  elastic_cap cap = at_minimum(30);
  CHECK(cap.update(nobody, true, at(1s), false));
  CHECK(cap.cap() == 4);
  CHECK(cap.update(nobody, true, at(2s), false));
  CHECK(cap.cap() == 8);
  // A waiter is somebody.
  CHECK(cap.update(0ms, true, at(3s), false));
  CHECK(cap.cap() == 9);

  elastic_policy pausing = rules();
  pausing.pause = 60s;
  elastic_cap paused;
  paused.configure(pausing, 30);
  CHECK(paused.update(0ms, true, at(0ms)));
  CHECK(paused.update(1s, true, at(1s)));
  CHECK(paused.update(2s, true, at(2s)));
  CHECK(paused.cap() == 0);
  CHECK(paused.update(nobody, true, at(2'001ms), false));
  CHECK(paused.cap() == 2);
}

TEST_CASE("a provider that has always been slow to answer is no trouble") {
  elastic_cap cap = at_ceiling(12);
  for (int n = 0; n < 40; ++n) cap.observe_first_token(800ms, at(n * 100ms));
  CHECK_FALSE(cap.update(nobody, true, at(4s)));
  CHECK(cap.cap() == 12);
  // Twice as slow as when it was calm is.
  for (int n = 0; n < 40; ++n) cap.observe_first_token(1'800ms, at(4s + n * 100ms));
  CHECK(cap.update(nobody, true, at(8s)));
  CHECK(cap.cap() == 6);
}

TEST_CASE("a ceiling without an end, and instants out of order") {
  elastic_cap cap;
  cap.configure(rules(), INT64_MAX);
  CHECK(cap.update(0ms, false, at(0ms)));
  std::int64_t rises = 0;
  for (int window = 10; window < 100; ++window) rises += cap.update(nobody, true, at(window * 1s)) ? 1 : 0;
  // 2 * 2^61 is 2^62, and what is beyond half of the ceiling goes there.
  CHECK(rises == 62);
  CHECK(cap.cap() == INT64_MAX);
  CHECK_FALSE(cap.update(nobody, true, at(1s)));
  CHECK(cap.update(1s, true, at(1s)));
  CHECK(cap.next_update() == at(100s));
}
