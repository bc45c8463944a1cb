#include "testing/model_clock.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using sluice::instant;
using sluice::never;
using sluice::testing::model_clock;

TEST_CASE("it runs as many times faster as it is told, both ways") {
  const auto start = instant{} + 100s;
  model_clock clock(10, start);
  CHECK(clock.at(start) == instant{});
  CHECK(clock.at(start + 2s) == instant{} + 20s);
  CHECK(clock.at(start - 2s) == instant{});
  // Never early: a nanosecond is added.
  CHECK(clock.real_of(instant{} + 20s) == start + 2s + 1ns);
  CHECK(clock.real_of(never) == never);
}

TEST_CASE("it can stand still, and change its pace, without a leap") {
  const auto start = instant{} + 100s;
  model_clock clock(2, start);
  clock.freeze(start + 1s);
  CHECK(clock.is_frozen());
  CHECK(clock.at(start + 50s) == instant{} + 2s);
  CHECK(clock.real_of(instant{} + 3s) == never);
  clock.thaw(start + 50s);
  CHECK_FALSE(clock.is_frozen());
  CHECK(clock.at(start + 51s) == instant{} + 4s);
  clock.set_scale(1, start + 51s);
  CHECK(clock.at(start + 53s) == instant{} + 6s);
  CHECK(clock.real_of(instant{} + 6s) == start + 53s + 1ns);
}
