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
                      header("x-ratelimit-remaining-tokens", "149984"), header("x-ratelimit-reset-tokens", "6m0s"),
                      header("content-type", "application/json")});
  REQUIRE(said.has_value());
  CHECK(said->requests == provider_limit{60, 59, 1s});
  CHECK(said->tokens == provider_limit{150'000, 149'984, 360s});
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
