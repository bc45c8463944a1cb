#include <sluice/llm/retry_policy.hpp>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using sluice::errc;
using sluice::llm::retry_policy;
using sluice::llm::validate;

TEST_CASE("a policy that does not hold is told with its field") {
  CHECK(validate(retry_policy{}).has_value());
  CHECK(validate(retry_policy{.max_attempts = 100, .first_backoff = 0s, .max_backoff = 0s, .max_retry_after = 0s})
            .has_value());
  const auto wrong = [](const retry_policy& rules) {
    const auto held = validate(rules);
    REQUIRE_FALSE(held.has_value());
    CHECK(held.error().is(errc::invalid_configuration));
    return held.error().message();
  };
  CHECK(wrong({.max_attempts = 0}) == "retry.max_attempts = 0; must be 1 to 100");
  CHECK(wrong({.max_attempts = 101}) == "retry.max_attempts = 101; must be 1 to 100");
  CHECK(wrong({.first_backoff = -1s}) == "retry.first_backoff is negative");
  CHECK(wrong({.max_backoff = -1s}) == "retry.max_backoff is negative");
  CHECK(wrong({.max_retry_after = -1s}) == "retry.max_retry_after is negative");
}
