#include "llm/attempts/backoff.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace std::chrono_literals;
using sluice::duration;
using sluice::instant;
using sluice::llm::retry_policy;
using sluice::llm::detail::backoff;

TEST_CASE("the longest wait doubles up to its bound") {
  const backoff waits(retry_policy{}, 1);
  CHECK(waits.longest(1) == 500ms);
  CHECK(waits.longest(2) == 1s);
  CHECK(waits.longest(3) == 2s);
  CHECK(waits.longest(5) == 8s);
  CHECK(waits.longest(6) == 8s);
  CHECK(waits.longest(1'000'000) == 8s);
  const backoff short_ones(retry_policy{.first_backoff = 3s, .max_backoff = 1s}, 1);
  CHECK(short_ones.longest(1) == 1s);
  const backoff none(retry_policy{.first_backoff = 0s}, 1);
  CHECK(none.longest(100) == 0s);
  const backoff long_ones(retry_policy{.first_backoff = duration::max() / 3, .max_backoff = duration::max()}, 1);
  CHECK(long_ones.longest(100) == duration::max());
}

TEST_CASE("jitter is full: it covers all of its range, and goes by the seed") {
  backoff waits(retry_policy{}, 7);
  std::vector<int> tenths(10);
  for (int n = 0; n < 10'000; ++n) {
    const duration drawn = waits.up_to(1s);
    REQUIRE(drawn >= 0s);
    REQUIRE(drawn <= 1s);
    ++tenths[std::min<std::size_t>(9, static_cast<std::size_t>(drawn / 100ms))];
  }
  // Each has a tenth, to within seven standard deviations.
  for (const int count : tenths) CHECK(std::abs(count - 1'000) < 210);
  CHECK(waits.up_to(0s) == 0s);
  CHECK(waits.up_to(-1s) == 0s);

  backoff again(retry_policy{}, 7);
  backoff same(retry_policy{}, 7);
  backoff other(retry_policy{}, 8);
  const duration first = again.up_to(1h);
  CHECK(same.up_to(1h) == first);
  CHECK(other.up_to(1h) != first);
  backoff by_system(retry_policy{}, 0);
  backoff by_system_again(retry_policy{}, 0);
  CHECK(by_system.up_to(1'000h) != by_system_again.up_to(1'000h));
}

TEST_CASE("what a provider asks for is made longer by up to a tenth; no wait at all by a little") {
  backoff waits(retry_policy{}, 3);
  duration most{};
  for (int n = 0; n < 1'000; ++n) {
    const duration added = waits.added_to(10s);
    REQUIRE(added >= 0s);
    REQUIRE(added <= 1s);
    most = std::max(most, added);
    REQUIRE(waits.added_to(0s) <= 50ms);
  }
  CHECK(most > 900ms);
}

TEST_CASE("moments are given away once, and lie a step apart") {
  backoff waits(retry_policy{}, 5);
  const instant now = instant{} + 1h;
  std::set<instant> given;
  for (int n = 0; n < 1'000; ++n) {
    const instant when = waits.moment(now, now, 500ms);
    CHECK(when >= now);
    CHECK(given.insert(when).second);
  }
  instant before = instant::min();
  for (const instant when : given) {
    if (before != instant::min()) CHECK(when - before >= backoff::step);
    before = when;
  }
  // A thousand steps take two and a half seconds; there are no holes to speak of.
  CHECK(*given.rbegin() <= now + 500ms + 1'000 * backoff::step);
  // What has passed is forgotten, and can be had again.
  CHECK(waits.moment(now + 1h, now + 1h, 0s) == now + 1h);
}

TEST_CASE("a moment is never before the earliest one, and never too far to count") {
  backoff waits(retry_policy{}, 5);
  const instant now = instant{} + 1h + 1ns;
  CHECK(waits.moment(now, now + 2s, 0s) >= now + 2s);
  CHECK(waits.moment(now, now + 2s, 0s) < now + 2s + 2 * backoff::step);
  CHECK(waits.moment(now, sluice::never, 1s) == sluice::never);
}
