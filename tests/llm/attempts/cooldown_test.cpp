#include "llm/attempts/cooldown.hpp"

#include "llm/call_fixture.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using sluice::duration;
using sluice::instant;
using sluice::llm::retry_policy;
using sluice::llm::detail::backoff;
using sluice::llm::detail::cooldown;

namespace {

struct parts {
  explicit parts(std::uint64_t seed = 11) : waits(rules, seed), pool(f.gate, waits, rules) {}
  sluice::llm::test::call_fixture f;
  retry_policy rules;
  backoff waits;
  cooldown pool;

  [[nodiscard]] instant now() const { return f.gate.now(); }
  [[nodiscard]] bool open() { return f.gate.try_admit({.tokens = 1}).has_value(); }
};

}  // namespace

TEST_CASE("the gate pauses for what the provider asks, and up to a tenth more") {
  parts self;
  const instant until = self.pool.begin(self.now(), duration(10s));
  CHECK(until >= self.now() + 10s);
  CHECK(until <= self.now() + 11s);
  CHECK_FALSE(self.open());
  self.f.advance(10s - 1ns);
  CHECK_FALSE(self.open());
  self.f.advance(1s + 1ns);
  CHECK(self.open());
}

TEST_CASE("no wait at all is a short one, and lifts none that is in force") {
  parts self;
  const instant until = self.pool.begin(self.now(), duration(10s));
  CHECK(self.pool.begin(self.now(), duration(0s)) == until);
  CHECK_FALSE(self.open());
  parts other;
  const instant soon = other.pool.begin(other.now(), duration(0s));
  CHECK(soon >= other.now() + 1ms);
  CHECK(soon <= other.now() + 50ms);
}

TEST_CASE("a wait beyond the limit stops the others no longer than the limit") {
  parts self;
  CHECK(self.pool.begin(self.now(), duration(999'999s)) <= self.now() + 132s);
}

TEST_CASE("without a word the pause doubles with each failure in a row, and a success ends the row") {
  duration longest_first{};
  duration longest_third{};
  for (int n = 0; n < 200; ++n) {
    parts self(static_cast<std::uint64_t>(n) + 1);
    for (int failures = 1; failures <= 7; ++failures) {
      const instant sent = self.now();
      const instant until = self.pool.begin(sent, std::nullopt);
      REQUIRE(until - sent <= std::min<duration>(500ms * (1 << (failures - 1)), 8s));
      if (failures == 1) longest_first = std::max(longest_first, until - sent);
      if (failures == 3) longest_third = std::max(longest_third, until - sent);
      self.f.advance(until - sent + 1ms);
    }
    self.pool.end();
    const instant sent = self.now();
    REQUIRE(self.pool.begin(sent, std::nullopt) - sent <= 500ms);
  }
  CHECK(longest_first > 0ms);
  CHECK(longest_third > 500ms);
}

TEST_CASE("those that were sent before the pause began fail for the same reason: they count once") {
  parts self;
  const instant sent = self.now();
  self.f.advance(1ms);
  const instant until = self.pool.begin(sent, std::nullopt);
  for (int n = 0; n < 200; ++n) CHECK(self.pool.begin(sent, std::nullopt) == until);
  self.f.advance(until - self.now() + 1ms);
  const instant next = self.now();
  CHECK(self.pool.begin(next, std::nullopt) - next <= 1s);
}
