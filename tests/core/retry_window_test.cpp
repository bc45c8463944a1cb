#include "core/retry_window.hpp"

#include <sluice/core/cost.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

instant at(duration since) { return instant{} + since; }

}  // namespace

TEST_CASE("a fifth of the fresh tokens may come again, to the token") {
  retry_window window;
  window.configure({.share = 0.2, .minimum = 0, .window = 16s});
  CHECK_FALSE(window.allows(1, at(0s)));
  window.first(1'000, at(0s));
  CHECK(window.allows(200, at(0s)));
  CHECK_FALSE(window.allows(201, at(0s)));
  window.wait(150);
  CHECK(window.allows(50, at(0s)));
  CHECK_FALSE(window.allows(51, at(0s)));
  // Starting changes nothing; going gives it back.
  window.start(150, at(0s));
  CHECK_FALSE(window.allows(51, at(0s)));
  window.wait(50);
  CHECK_FALSE(window.allows(1, at(0s)));
  window.leave(50);
  CHECK(window.allows(50, at(0s)));
  CHECK(window.waiting().count == 0);
  CHECK(window.waiting().tokens == 0);
}

TEST_CASE("so many are always let in, whatever they cost") {
  retry_window window;
  window.configure({.share = 0, .minimum = 2, .window = 16s});
  CHECK(window.allows(1'000'000, at(0s)));
  window.wait(1'000'000);
  CHECK(window.allows(1'000'000, at(0s)));
  window.start(1'000'000, at(1s));
  window.wait(5);
  CHECK_FALSE(window.allows(0, at(1s)));
  window.leave(5);
  CHECK(window.allows(5, at(1s)));
  // The one that started counts until its sixteenth of the window has passed sixteen times.
  window.wait(5);
  CHECK_FALSE(window.allows(5, at(17s - 1ns)));
  CHECK(window.allows(5, at(17s)));
}

TEST_CASE("what started is forgotten a window later, in sixteenths") {
  retry_window window;
  window.configure({.share = 1, .minimum = 0, .window = 16s});
  window.first(10, at(0s));
  window.first(20, at(1s));
  window.first(40, at(1'999ms));
  CHECK(window.within(at(1'999ms)).fresh == 70);
  CHECK(window.within(at(16s - 1ns)).fresh == 70);
  CHECK(window.within(at(16s)).fresh == 60);
  CHECK(window.within(at(17s - 1ns)).fresh == 60);
  CHECK(window.within(at(17s)).fresh == 0);
  // Asking has forgotten nothing.
  CHECK(window.within(at(2s)).fresh == 70);
  window.first(1, at(16s));
  CHECK(window.within(at(16s)).fresh == 61);
  window.first(2, at(1h));
  CHECK(window.within(at(1h)).fresh == 2);
}

TEST_CASE("any starts at any times add up as a list of them does") {
  std::mt19937_64 draw(11);
  const duration width = 1ms;
  retry_window window;
  window.configure({.share = 0.3, .minimum = 2, .window = 16 * width});
  std::vector<std::pair<instant, std::int64_t>> fresh;
  std::vector<std::pair<instant, std::int64_t>> again;
  instant now{};
  for (int i = 0; i < 20'000; ++i) {
    now += duration(static_cast<std::int64_t>(draw() % 2 == 0 ? draw() % 700'000 : draw() % 5'000'000));
    if (draw() % 50 == 0) now += 40ms;
    const auto tokens = static_cast<std::int64_t>(draw() % 100);
    const auto sum = [now, width](const auto& some) {
      wide all = 0;
      std::int64_t count = 0;
      for (const auto& [when, one] : some) {
        if (now.time_since_epoch() / width - when.time_since_epoch() / width >= 16) continue;
        all += one;
        ++count;
      }
      return std::pair(all, count);
    };
    const auto [fresh_tokens, fresh_count] = sum(fresh);
    const auto [again_tokens, again_count] = sum(again);
    REQUIRE(window.within(now).fresh == fresh_tokens);
    REQUIRE(window.within(now).again.tokens == again_tokens);
    REQUIRE(window.within(now).again.count == again_count);
    const bool may =
        again_count < 2 || static_cast<double>(again_tokens + tokens) <= 0.3 * static_cast<double>(fresh_tokens);
    REQUIRE(window.allows(tokens, now) == may);
    if (draw() % 3 == 0 && may) {
      window.wait(tokens);
      window.start(tokens, now);
      again.emplace_back(now, tokens);
    } else {
      window.first(tokens, now);
      fresh.emplace_back(now, tokens);
    }
  }
}

TEST_CASE("a window of another length, or one switched on, begins empty; what waits stays") {
  retry_window window;
  retry_budget rules{.share = 0.5, .minimum = 0, .window = 16s};
  window.configure(rules);
  window.first(1'000, at(1s));
  window.wait(100);
  rules.share = 0.2;
  window.configure(rules);
  CHECK(window.within(at(1s)).fresh == 1'000);
  CHECK_FALSE(window.allows(101, at(1s)));
  rules.window = 32s;
  window.configure(rules);
  CHECK(window.within(at(1s)).fresh == 0);
  CHECK(window.within(at(1s)).again.tokens == 100);
  rules.enabled = false;
  window.configure(rules);
  window.first(1'000, at(2s));
  CHECK(window.allows(1'000'000, at(2s)));
  window.start(100, at(2s));
  CHECK(window.waiting().tokens == 0);
  rules.enabled = true;
  window.configure(rules);
  CHECK(window.within(at(2s)).fresh == 0);
  CHECK(window.within(at(2s)).again.tokens == 0);
}

TEST_CASE("the largest costs do not wrap, and a window of a nanosecond is one") {
  retry_window window;
  window.configure({.share = 0.5, .minimum = 0, .window = 1ns});
  for (int i = 0; i < 100; ++i) window.first(unlimited, at(5ns));
  CHECK(window.allows(unlimited, at(5ns)));
  CHECK(window.within(at(5ns)).fresh == wide{unlimited} * 100);
  CHECK(window.within(at(20ns)).fresh == wide{unlimited} * 100);
  CHECK(window.within(at(21ns)).fresh == 0);
  window.first(1, never - 1ns);
  CHECK(window.within(never - 1ns).fresh == 1);
}
