// Whose turn it is: start tags worked out by hand, and random turns against the definition.
#include "core/fair_queue.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

TEST_CASE("the start tag is the present of the class or the end of its own last, whichever is later") {
  fair_queue turns;
  const std::uint32_t a = turns.open(0, 1, 1);
  const std::uint32_t b = turns.open(0, 2, 2);
  CHECK(turns.first(0) == nowhere);
  turns.enter(a);
  turns.enter(b);
  CHECK(turns.size(0) == 2);
  // Both at 0; a came first.
  CHECK(turns.first(0) == a);
  turns.serve(a, 100);
  CHECK(turns.first(0) == b);
  turns.serve(b, 100);
  // a starts at 100, b at 50.
  CHECK(turns.first(0) == b);
  turns.serve(b, 100);
  // Both at 100; a has been there for longer.
  CHECK(turns.first(0) == a);
  turns.leave(a);
  CHECK(turns.first(0) == b);
  turns.serve(b, 600);
  // The class is at 100, where b last started. a ended at 100 as well: it comes back without a gain.
  turns.enter(a);
  CHECK(turns.first(0) == a);
  turns.serve(a, 200);
  CHECK(turns.first(0) == a);
  turns.serve(a, 200);
  CHECK(turns.first(0) == b);
}

TEST_CASE("one that was idle starts at the present, not in the past") {
  fair_queue turns;
  const std::uint32_t a = turns.open(0, 1, 1);
  const std::uint32_t b = turns.open(0, 2, 1);
  turns.enter(a);
  for (int i = 0; i < 10; ++i) turns.serve(a, 100);
  // a starts at 1,000 next; the last started at 900, and there b begins.
  turns.enter(b);
  CHECK(turns.first(0) == b);
  turns.serve(b, 150);
  CHECK(turns.first(0) == a);
  turns.serve(a, 100);
  CHECK(turns.first(0) == b);
}

TEST_CASE("work that starts without waiting is charged as well") {
  fair_queue turns;
  const std::uint32_t a = turns.open(0, 1, 1);
  const std::uint32_t b = turns.open(0, 2, 1);
  turns.serve(a, 500);
  turns.enter(a);
  turns.enter(b);
  CHECK(turns.first(0) == b);
}

TEST_CASE("a report out of its mind does not put a tenant behind all others for ever") {
  constexpr std::int64_t million = std::int64_t{1} << 20;
  // What is used, after 100 or 100,000 tokens were reserved, and what of it is believed.
  struct row {
    std::int64_t reserved, used, believed;
  };
  for (const row& each : {row{100, 5'000, 5'000}, row{100, million, million}, row{100, million + 1, million},
                          row{100, std::int64_t{1} << 40, million}, row{100'000, 1'600'000, 1'600'000},
                          row{100'000, 1'600'001, 1'600'000}, row{100'000, std::int64_t{1} << 62, 1'600'000}}) {
    CAPTURE(each.used);
    fair_queue turns;
    const std::uint32_t a = turns.open(0, 1, 1);
    turns.serve(a, each.reserved);
    turns.correct(a, each.reserved, each.used);
    CHECK(turns[a].finish == static_cast<std::uint64_t>(each.believed) << 16);
  }
}

TEST_CASE("a correction moves the end of its last work, and its turn with it") {
  fair_queue turns;
  const std::uint32_t a = turns.open(0, 1, 1);
  const std::uint32_t b = turns.open(0, 2, 1);
  turns.enter(a);
  turns.enter(b);
  turns.serve(a, 300);
  turns.serve(b, 200);
  CHECK(turns.first(0) == b);
  turns.correct(a, 300, 100);
  CHECK(turns.first(0) == a);
  turns.correct(a, 300, 900);
  CHECK(turns.first(0) == b);
}

TEST_CASE("a pause takes the turn away until it ends; whoever leaves meanwhile is not resumed") {
  fair_queue turns;
  const std::uint32_t a = turns.open(0, 1, 1);
  const std::uint32_t b = turns.open(1, 2, 1);
  turns.enter(a);
  turns.enter(b);
  turns.pause(a, instant{} + 5s);
  turns.pause(b, instant{} + 2s);
  CHECK(turns.size(0) == 0);
  CHECK(turns.first(1) == nowhere);
  CHECK(turns.next_resume() == instant{} + 2s);
  CHECK(turns.resume_one(instant{} + 1s) == nowhere);
  CHECK(turns.resume_one(instant{} + 2s) == b);
  CHECK(turns.first(1) == b);
  CHECK(turns.next_resume() == instant{} + 5s);
  turns.leave(a);
  CHECK(turns.next_resume() == never);
  CHECK_FALSE(turns[a].paused);
}

TEST_CASE("a flow is at least charged one token, and the greatest cost and weight do not overflow") {
  fair_queue turns;
  const std::uint32_t a = turns.open(0, 1, 1'000);
  const std::uint32_t b = turns.open(0, 2, 1'000);
  turns.enter(a);
  turns.enter(b);
  turns.serve(a, 0);
  CHECK(turns.first(0) == b);
  turns.serve(b, std::int64_t{1} << 62);
  CHECK(turns.first(0) == a);
}

TEST_CASE("random turns follow the definition") {
  // S = max(V, F), F = S + cost / weight, the least S is served, V is the S of what was served last.
  constexpr std::uint64_t scale = std::uint64_t{1} << 16;
  struct naive {
    std::uint64_t start = 0;
    std::uint64_t finish = 0;
    std::uint64_t entered = 0;
    std::uint64_t weight = 1;
    bool waits = false;
  };
  std::mt19937_64 draw(23);
  fair_queue turns;
  std::vector<naive> all(6);
  std::uint64_t now = 0;
  std::uint64_t entries = 0;
  for (std::uint32_t f = 0; f < all.size(); ++f) {
    all[f].weight = std::uint64_t{1} << (draw() % 4);  // so that no charge is rounded
    REQUIRE(turns.open(3, f, static_cast<std::int64_t>(all[f].weight)) == f);
  }
  for (int step = 0; step < 50'000; ++step) {
    const auto f = static_cast<std::uint32_t>(draw() % all.size());
    naive& one = all[f];
    const std::uint64_t cost = 8 * (1 + draw() % 100);
    switch (draw() % 4) {
      case 0:
        if (one.waits) break;
        one.waits = true;
        one.start = std::max(now, one.finish);
        one.entered = entries++;
        turns.enter(f);
        break;
      case 1:
        if (!one.waits) break;
        one.waits = false;
        turns.leave(f);
        break;
      default: {
        const std::uint32_t next = turns.first(3);
        if (next == nowhere) break;
        naive& served = all[next];
        now = std::max(now, served.start);
        served.finish = served.start + cost * scale / served.weight;
        served.start = served.finish;
        served.entered = entries++;
        turns.serve(next, static_cast<std::int64_t>(cost));
      }
    }
    const naive* first = nullptr;
    std::uint32_t at = nowhere;
    for (std::uint32_t n = 0; n < all.size(); ++n) {
      const naive& each = all[n];
      if (!each.waits) continue;
      if (first == nullptr || std::pair(each.start, each.entered) < std::pair(first->start, first->entered)) {
        first = &each;
        at = n;
      }
    }
    REQUIRE(turns.first(3) == at);
  }
}
