#include "llm/attempts/retry_after.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using sluice::duration;
using sluice::http::header;
using sluice::llm::retry_after;

namespace {

std::optional<duration> seconds(const char* value) { return retry_after({header("Retry-After", value)}); }

}  // namespace

TEST_CASE("seconds, whole or with a fraction") {
  CHECK(seconds("2") == duration(2s));
  CHECK(seconds(" 2 ") == duration(2s));
  CHECK(seconds("0") == duration(0s));
  CHECK(seconds("0.5") == duration(500ms));
  CHECK(seconds(".25") == duration(250ms));
  CHECK(seconds("999999") == duration(999'999s));
  CHECK(seconds("99999999999999999999999") == duration(std::chrono::hours(24 * 3650)));
}

TEST_CASE("what cannot be read is not there") {
  for (const char* text : {"-5", "abc", "", "1e3", "1.2.3", ".", "1 s", "nan"}) {
    CAPTURE(text);
    CHECK_FALSE(seconds(text).has_value());
  }
  CHECK_FALSE(retry_after({}).has_value());
}

TEST_CASE("milliseconds win") {
  CHECK(retry_after({header("retry-after", "5"), header("retry-after-ms", "250")}) == duration(250ms));
  CHECK(retry_after({header("retry-after-ms", "1.5")}) == duration(1'500us));
  CHECK(retry_after({header("retry-after-ms", "x"), header("retry-after", "5")}) == duration(5s));
}

TEST_CASE("a date is seen from the server's own clock") {
  const auto between = [](const char* now, const char* until) {
    return retry_after({header("date", now), header("retry-after", until)});
  };
  CHECK(between("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:40 GMT") == duration(3s));
  CHECK(between("Sat, 31 Dec 2022 23:59:59 GMT", "Sun, 01 Jan 2023 00:00:01 GMT") == duration(2s));
  CHECK(between("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:00:00 GMT") == duration(0s));
  CHECK_FALSE(between("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:40 GMT").has_value());
  CHECK_FALSE(between("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nox 1994 08:49:40 GMT").has_value());
  CHECK_FALSE(between("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:40 GMT").has_value());
  CHECK_FALSE(between("yesterday", "Sun, 06 Nov 1994 08:49:40 GMT").has_value());
  CHECK_FALSE(seconds("Sun, 06 Nov 1994 08:49:40 GMT").has_value());
}
