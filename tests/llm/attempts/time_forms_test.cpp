#include "llm/attempts/time_forms.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using namespace sluice::llm;
using sluice::duration;

namespace {

constexpr civil_time at(std::chrono::year_month_day day, duration time) {
  return std::chrono::sys_days(day) + std::chrono::duration_cast<std::chrono::milliseconds>(time);
}
constexpr auto november = std::chrono::year(1994) / 11 / 6;

}  // namespace

TEST_CASE("lengths with units") {
  CHECK(read_length("1s") == duration(1s));
  CHECK(read_length("6m0s") == duration(360s));
  CHECK(read_length("20ms") == duration(20ms));
  CHECK(read_length("1h2m3s") == duration(3'723s));
  CHECK(read_length("17.5s") == duration(17'500ms));
  CHECK(read_length("1d") == duration(24h));
  CHECK(read_length("7ns") == duration(7ns));
  CHECK(read_length("7us") == duration(7us));
  CHECK(read_length("7\xC2\xB5s") == duration(7us));
  CHECK(read_length("0s") == duration(0s));
  CHECK(read_length("99999999999999999999h") == longest_wait);
  CHECK(read_length("3650d3650d") == longest_wait);
  for (const char* text : {"", "s", "1", "1 s", "1s ", "-1s", "1x", "1s2", "1.2.3s", ".s", "1e3s", "1mm"}) {
    CAPTURE(text);
    CHECK_FALSE(read_length(text).has_value());
  }
}

TEST_CASE("dates of HTTP, in three forms") {
  const auto wanted = at(november, 8h + 49min + 37s);
  CHECK(read_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == wanted);
  CHECK(read_http_date("Sunday, 06-Nov-94 08:49:37 GMT") == wanted);
  CHECK(read_http_date("Sun Nov  6 08:49:37 1994") == wanted);
  CHECK(read_http_date("Wed, 16 Nov 2044 08:49:37 GMT") == at(std::chrono::year(2044) / 11 / 16, 8h + 49min + 37s));
  CHECK(read_http_date("Wednesday, 16-Nov-44 08:49:37 GMT") == at(std::chrono::year(2044) / 11 / 16, 8h + 49min + 37s));
  CHECK(read_http_date("Wed Nov 16 08:49:37 1994") == at(std::chrono::year(1994) / 11 / 16, 8h + 49min + 37s));
  for (const char* text :
       {"", "Sun", "Sun,", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT x", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 94",
        "Sunday, 06-Nov-1994 08:49:37 GMT"}) {
    CAPTURE(text);
    CHECK_FALSE(read_http_date(text).has_value());
  }
}

TEST_CASE("instants of RFC 3339") {
  const auto noon = at(std::chrono::year(2024) / 5 / 1, 12h);
  CHECK(read_rfc3339("2024-05-01T12:00:00Z") == noon);
  CHECK(read_rfc3339("2024-05-01t12:00:00z") == noon);
  CHECK(read_rfc3339("2024-05-01 12:00:00Z") == noon);
  CHECK(read_rfc3339("2024-05-01T14:00:00+02:00") == noon);
  CHECK(read_rfc3339("2024-05-01T06:30:00-05:30") == noon);
  CHECK(read_rfc3339("2024-05-01T12:00:00.25Z") == noon + 250ms);
  CHECK(read_rfc3339("2024-05-01T12:00:00.123456789Z") == noon + 123ms);
  CHECK(read_rfc3339("2024-04-30T23:59:59-12:00") == noon - 1s);
  for (const char* text :
       {"", "2024-05-01", "2024-05-01T12:00:00", "2024-13-01T12:00:00Z", "2024-05-01T12:00Z", "2024-05-01T12:00:00.Z",
        "2024-05-01T12:00:00+2:00", "2024-05-01T12:00:00+25:00", "2024-05-01T12:00:00Zx"}) {
    CAPTURE(text);
    CHECK_FALSE(read_rfc3339(text).has_value());
  }
}

TEST_CASE("numbers too large to be anything but a date") {
  using std::chrono::sys_seconds;
  CHECK(read_epoch("1700000000") == civil_time(1'700'000'000s));
  CHECK(read_epoch("1700000000.5") == civil_time(1'700'000'000s));
  CHECK(read_epoch("1700000000123") == civil_time(1'700'000'000'123ms));
  for (const char* text :
       {"", "60", "999999999", "-1700000000", "17000000001234567890", "1700000000x", "1700000000.x"}) {
    CAPTURE(text);
    CHECK_FALSE(read_epoch(text).has_value());
  }
}

TEST_CASE("the time between two dates is never negative, and never beyond all bounds") {
  const civil_time now(1'700'000'000s);
  CHECK(between(now, now + 3s) == duration(3s));
  CHECK(between(now, now - 3s) == duration(0s));
  CHECK(between(now, now) == duration(0s));
  CHECK(between(at(std::chrono::year(0) / 1 / 1, 0s), at(std::chrono::year(9999) / 12 / 31, 0s)) == longest_wait);
}
