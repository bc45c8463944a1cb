#include "llm/attempts/rate_headers.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using sluice::duration;
using sluice::provider_limit;
using sluice::unlimited;
using sluice::http::header;
using sluice::llm::rate_limits_of;

namespace {

constexpr duration unsaid{-1};

duration reset(const char* value, const char* date = "Wed, 01 May 2024 12:00:00 GMT") {
  const auto said = rate_limits_of({header("date", date), header("x-ratelimit-reset-tokens", value)});
  return said ? said->tokens.reset : unsaid;
}

}  // namespace

TEST_CASE("OpenAI's headers") {
  const auto said =
      rate_limits_of({header("X-RateLimit-Limit-Requests", "60"), header("x-ratelimit-remaining-requests", "59"),
                      header("x-ratelimit-reset-requests", "1s"), header("x-ratelimit-limit-tokens", "150000"),
                      header("x-ratelimit-remaining-tokens", "149984"), header("x-ratelimit-reset-tokens", "6ms"),
                      header("content-type", "application/json")});
  REQUIRE(said.has_value());
  CHECK(said->requests == provider_limit{60, 59, 1s});
  CHECK(said->tokens == provider_limit{150'000, 149'984, 6ms});
  CHECK(said->input_tokens == provider_limit{});
  CHECK(said->output_tokens == provider_limit{});
}

TEST_CASE("Anthropic's headers") {
  const auto said = rate_limits_of({header("date", "Wed, 01 May 2024 12:00:00 GMT"),
                                    header("anthropic-ratelimit-requests-limit", "50"),
                                    header("anthropic-ratelimit-requests-remaining", "0"),
                                    header("anthropic-ratelimit-requests-reset", "2024-05-01T12:00:07Z"),
                                    header("anthropic-ratelimit-input-tokens-limit", "40000"),
                                    header("anthropic-ratelimit-input-tokens-remaining", "39000"),
                                    header("anthropic-ratelimit-output-tokens-remaining", "8000"),
                                    header("Anthropic-RateLimit-Output-Tokens-Reset", "2024-05-01T14:00:30+02:00")});
  REQUIRE(said.has_value());
  CHECK(said->requests == provider_limit{50, 0, 7s});
  CHECK(said->input_tokens == provider_limit{40'000, 39'000, unsaid});
  CHECK(said->output_tokens == provider_limit{unlimited, 8'000, 30s});
  CHECK(said->tokens == provider_limit{});
}

TEST_CASE("the window of a limit is told by its reset") {
  const auto said = [](const char* limit, const char* remaining, const char* until) {
    const auto all = rate_limits_of(
        {header("date", "Wed, 01 May 2024 12:00:00 GMT"), header("x-ratelimit-limit-requests", limit),
         header("x-ratelimit-remaining-requests", remaining), header("x-ratelimit-reset-requests", until)});
    return all ? all->requests : provider_limit{};
  };
  // A minute's, that fills up all the time, or at its end.
  CHECK(said("60", "30", "30s") == provider_limit{60, 30, 30s});
  CHECK(said("60", "0", "60s") == provider_limit{60, 0, 60s});
  CHECK(said("60", "59", "58s") == provider_limit{60, 59, 58s});
  CHECK(said("10000", "9999", "6ms") == provider_limit{10'000, 9'999, 6ms});
  CHECK(said("60", "0", "2024-05-01T12:01:04Z") == provider_limit{60, 0, 64s});
  // Rounded down to a whole second.
  CHECK(said("60", "59", "0s") == provider_limit{60, 59, 0s});
  CHECK(said("50", "49", "2024-05-01T12:00:00Z") == provider_limit{50, 49, 0s});
  CHECK(said("60", "60", "0s") == provider_limit{60, 60, 0s});

  // A day's: 14,400 a day, of which 30 are taken; the same at its end, and one that begins anew at midnight.
  CHECK(said("14400", "14370", "2m59.56s") == provider_limit{});
  CHECK(said("14400", "0", "24h0m0s") == provider_limit{});
  CHECK(said("1000", "999", "2024-05-02T00:00:00Z") == provider_limit{});
  // What it is taken for as long as it is hardly used throttles nobody.
  CHECK(said("14400", "14399", "6s") == provider_limit{14'400, 14'399, 6s});

  // A second's: never less than it lets through.
  CHECK(said("5", "4", "0.2s") == provider_limit{1'500, 4, 200ms});
  CHECK(said("100", "50", "1s") == provider_limit{6'000, 50, 1s});
  CHECK(said("100", "0", "900ms").per_minute == 6'666);
  CHECK(said("100", "50", "0s") == provider_limit{std::int64_t{1} << 40, 50, 0s});
  // The end of a fixed minute: what remains is held to, and the next report tells more.
  CHECK(said("60", "10", "5s") == provider_limit{720, 10, 5s});
  CHECK(said("0", "0", "1s") == provider_limit{0, 0, 1s});
  CHECK(said("9000000000000000000", "0", "1ms") == provider_limit{std::int64_t{1} << 40, 0, 1ms});
  // Without all three figures nothing more is known.
  CHECK(said("60", "", "24h") == provider_limit{60, unlimited, 86'400s});
  CHECK(said("60", "5", "") == provider_limit{60, 5, unsaid});
  CHECK(said("", "5", "24h") == provider_limit{unlimited, 5, 86'400s});
}

TEST_CASE("other axes stand when one is of a day") {
  const auto said =
      rate_limits_of({header("x-ratelimit-limit-requests", "14400"), header("x-ratelimit-remaining-requests", "14370"),
                      header("x-ratelimit-reset-requests", "2m59.56s"), header("x-ratelimit-limit-tokens", "18000"),
                      header("x-ratelimit-remaining-tokens", "17997"), header("x-ratelimit-reset-tokens", "10ms")});
  REQUIRE(said.has_value());
  CHECK(said->requests == provider_limit{});
  CHECK(said->tokens == provider_limit{18'000, 17'997, 10ms});
}

TEST_CASE("Azure says what remains") {
  const auto said =
      rate_limits_of({header("x-ratelimit-remaining-requests", "99"), header("x-ratelimit-remaining-tokens", "9999")});
  REQUIRE(said.has_value());
  CHECK(said->requests == provider_limit{unlimited, 99, unsaid});
  CHECK(said->tokens == provider_limit{unlimited, 9'999, unsaid});
}

TEST_CASE("all spellings of a reset") {
  CHECK(reset("1s") == 1s);
  CHECK(reset("6m0s") == 360s);
  CHECK(reset("20ms") == 20ms);
  CHECK(reset("1h2m3s") == 3'723s);
  CHECK(reset("17.5s") == 17'500ms);
  CHECK(reset(" 59 ") == 59s);
  CHECK(reset("0.5") == 500ms);
  CHECK(reset("0") == 0s);
  CHECK(reset("2024-05-01T14:00:30+02:00") == 30s);
  CHECK(reset("2024-05-01T11:00:00Z") == 0s);
  CHECK(reset("Wed, 01 May 2024 12:00:09 GMT") == 9s);
  CHECK(reset("1714564805") == 5s);
  CHECK(reset("1714564805250") == 5'250ms);
}

TEST_CASE("unknown forms are ignored, not zero") {
  for (const char* text : {"", "-1", "soon", "1 minute", "6m0", "2024-05-01", "NaN", "1e2"}) {
    CAPTURE(text);
    CHECK(reset(text) == unsaid);
  }
  // Without the server's own clock a date says nothing.
  CHECK(reset("2024-05-01T12:00:30Z", "today") == unsaid);
  CHECK(reset("1714564805", "") == unsaid);
  for (const char* text : {"", "-5", "many", "5.5", "99999999999999999999", "100, 100;w=60"}) {
    CAPTURE(text);
    CHECK_FALSE(rate_limits_of({header("x-ratelimit-remaining-requests", text)}).has_value());
  }
}

TEST_CASE("headers of other kinds say nothing") {
  CHECK_FALSE(rate_limits_of({}).has_value());
  CHECK_FALSE(rate_limits_of({header("x-ratelimit-limit", "5"), header("x-ratelimit-remaining-images", "5"),
                              header("anthropic-ratelimit-unified-status", "allowed"), header("x-ratelimit-", "1"),
                              header("retry-after", "5"), header("anthropic-ratelimit--limit", "5")})
                  .has_value());
}
