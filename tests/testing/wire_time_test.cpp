#include "testing/wire_time.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using namespace sluice::testing;

TEST_CASE("durations, as headers have them") {
  CHECK(decimal_seconds(0s) == "0");
  CHECK(decimal_seconds(1s) == "1");
  CHECK(decimal_seconds(250ms) == "0.25");
  CHECK(decimal_seconds(12'005ms) == "12.005");
  CHECK(decimal_seconds(-5s) == "0");
  CHECK(go_duration(0s) == "0s");
  CHECK(go_duration(20ms) == "20ms");
  CHECK(go_duration(1s) == "1s");
  CHECK(go_duration(17'500ms) == "17.5s");
  CHECK(go_duration(6min) == "6m0s");
  CHECK(go_duration(1h + 2min + 3s) == "1h2m3s");
  CHECK(go_duration(1h) == "1h0m0s");
}

TEST_CASE("instants, as headers have them") {
  const std::chrono::sys_days day(std::chrono::year(2024) / 2 / 29);
  CHECK(rfc3339(day) == "2024-02-29T00:00:00Z");
  CHECK(rfc3339(day + 23h + 59min + 58s + 1ms) == "2024-02-29T23:59:59Z");
  CHECK(rfc3339(day + 23h + 59min + 59s + 1ms) == "2024-03-01T00:00:00Z");
  CHECK(rfc3339(std::chrono::sys_days(std::chrono::year(2009) / 11 / 3) + 7h + 5min + 9s) == "2009-11-03T07:05:09Z");
}
