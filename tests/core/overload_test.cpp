#include "core/overload.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

constexpr instant at(std::chrono::milliseconds since) { return instant{} + since; }

/// Begins above a tenth, ends below a twentieth, in 10 s.
overload_policy rules() {
  overload_policy chosen;
  chosen.enter = 0.1;
  chosen.leave = 0.05;
  chosen.window = 10s;
  return chosen;
}

overload watched() {
  overload watch;
  watch.configure(rules());
  return watch;
}

void arrive(overload& watch, int number, instant now) {
  for (int arrival = 0; arrival < number; ++arrival) watch.arrived(now);
}

void miss(overload& watch, int number, instant now) {
  for (int missed = 0; missed < number; ++missed) watch.missed(now);
}

}  // namespace

TEST_CASE("begins above the share, not at it") {
  overload watch = watched();
  CHECK_FALSE(watch.active(at(0ms)));
  arrive(watch, 30, at(100ms));
  miss(watch, 3, at(200ms));
  CHECK_FALSE(watch.active(at(200ms)));
  miss(watch, 1, at(300ms));
  CHECK(watch.active(at(300ms)));
}

TEST_CASE("needs twenty arrivals") {
  overload watch = watched();
  arrive(watch, 19, at(0ms));
  miss(watch, 19, at(0ms));
  CHECK_FALSE(watch.active(at(0ms)));
  arrive(watch, 1, at(0ms));
  CHECK(watch.active(at(0ms)));
}

TEST_CASE("goes on between the two shares, and ends below the lower one") {
  overload watch = watched();
  arrive(watch, 20, at(0ms));
  miss(watch, 3, at(0ms));
  CHECK(watch.active(at(0ms)));
  // 3 of 60 is just a twentieth.
  arrive(watch, 40, at(0ms));
  CHECK(watch.active(at(0ms)));
  arrive(watch, 1, at(0ms));
  CHECK_FALSE(watch.active(at(0ms)));
  // And begins anew only above the upper one: 6 of 61 is not.
  miss(watch, 3, at(0ms));
  CHECK_FALSE(watch.active(at(0ms)));
  miss(watch, 1, at(0ms));
  CHECK(watch.active(at(0ms)));
}

TEST_CASE("the window slides in tenths") {
  overload watch = watched();
  arrive(watch, 20, at(500ms));
  miss(watch, 10, at(500ms));
  arrive(watch, 20, at(5500ms));
  miss(watch, 2, at(5500ms));
  CHECK(watch.active(at(9999ms)));
  // At 10 s the first tenth is gone: 2 of 20 stay.
  CHECK(watch.active(at(10s)));
  // Above a twentieth until the sixth is gone.
  CHECK(watch.active(at(14'999ms)));
  CHECK_FALSE(watch.active(at(15s)));
}

TEST_CASE("what has slid out does not count with what comes") {
  overload watch = watched();
  arrive(watch, 15, at(500ms));
  miss(watch, 15, at(500ms));
  arrive(watch, 15, at(10'500ms));
  miss(watch, 1, at(10'500ms));
  CHECK_FALSE(watch.active(at(10'500ms)));
  arrive(watch, 5, at(10'500ms));
  miss(watch, 1, at(10'500ms));
  // 2 of 20 is not above a tenth.
  CHECK_FALSE(watch.active(at(10'500ms)));
}

TEST_CASE("ends when the window is empty, whatever comes first afterwards") {
  overload watch = watched();
  arrive(watch, 20, at(0ms));
  miss(watch, 20, at(0ms));
  CHECK(watch.active(at(0ms)));
  SUBCASE("a question") { CHECK_FALSE(watch.active(at(1h))); }
  SUBCASE("an arrival") {
    arrive(watch, 1, at(1h));
    CHECK_FALSE(watch.active(at(1h)));
  }
  SUBCASE("a miss") {
    miss(watch, 1, at(1h));
    CHECK_FALSE(watch.active(at(1h)));
  }
  SUBCASE("a miss, when all arrivals and misses have slid out one by one") {
    arrive(watch, 1, at(9500ms));
    miss(watch, 1, at(10'500ms));
    CHECK_FALSE(watch.active(at(10'500ms)));
  }
}

TEST_CASE("misses of those who came before the window keep it up") {
  overload watch = watched();
  arrive(watch, 20, at(0ms));
  miss(watch, 5, at(0ms));
  miss(watch, 5, at(9s));
  CHECK(watch.active(at(12s)));
  CHECK(watch.active(at(18'999ms)));
  CHECK_FALSE(watch.active(at(19s)));
}

TEST_CASE("with a lower share of zero it ends when nothing is missed") {
  overload_policy strict = rules();
  strict.leave = 0;
  overload watch;
  watch.configure(strict);
  arrive(watch, 20, at(0ms));
  miss(watch, 3, at(0ms));
  arrive(watch, 1000, at(5s));
  CHECK(watch.active(at(9s)));
  CHECK_FALSE(watch.active(at(10s)));
}

TEST_CASE("off, it is never active; a window of another length begins empty") {
  overload watch = watched();
  arrive(watch, 20, at(0ms));
  miss(watch, 20, at(0ms));
  overload_policy changed = rules();
  changed.enabled = false;
  watch.configure(changed);
  CHECK_FALSE(watch.active(at(0ms)));
  // What was counted meanwhile counts.
  watch.configure(rules());
  CHECK(watch.active(at(0ms)));
  changed.enabled = true;
  changed.window = 20s;
  watch.configure(changed);
  CHECK_FALSE(watch.active(at(0ms)));
}

TEST_CASE("before the clock's zero, and out of order") {
  overload watch = watched();
  arrive(watch, 10, at(-500ms));
  arrive(watch, 10, at(500ms));
  miss(watch, 3, at(500ms));
  CHECK(watch.active(at(500ms)));
  miss(watch, 1, at(-1h));
  CHECK(watch.active(at(-1h)));
  // The tenth before zero leaves at 9 s: 4 of 10.
  CHECK(watch.active(at(9s)));
  CHECK_FALSE(watch.active(at(10s)));
}
