#include "core/rate_cell.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t minute = 60'000'000'000;
constexpr instant start{};

rate_cell cell_of(rate limit, instant now = start) {
  rate_cell made;
  made.configure(limit, now);
  return made;
}

rate_cells cells_of(const rate_limits& limits, instant now = start) {
  rate_cells made;
  made.configure(limits, now);
  return made;
}

/// Sends when all axes let it through, as a gate would.
bool send(rate_cells& cells, const rate_charge& what, instant now) {
  if (cells.first_short(what, now) != rate_axis::none) return false;
  cells.take(what, now);
  return true;
}

}  // namespace

TEST_CASE("60 a minute and one at once are exactly a second apart, after ten million too") {
  rate_cell cell = cell_of({.per_minute = 60, .burst = 1});
  instant now = start;
  std::int64_t wrong = 0;
  for (std::int64_t sent = 0; sent < 10'000'000; ++sent) {
    cell.take(1, now);
    const instant next = cell.earliest(1, now);
    if (next != now + 1s || cell.conforms(1, next - 1ns) || !cell.conforms(1, next)) ++wrong;
    now = next;
  }
  CHECK(wrong == 0);
  CHECK(now == start + 10'000'000s);
}

TEST_CASE("a rate that does not divide a minute does not drift") {
  rate_cell cell = cell_of({.per_minute = 7, .burst = 2});
  cell.take(1, start);
  instant now = start;
  std::int64_t wrong = 0;
  // Of two at once, the k-th after the first two comes k sevenths of a minute after the start, rounded up.
  for (std::int64_t k = 0; k < 1'000'000; ++k) {
    now = cell.earliest(1, now);
    if (now != start + duration((k * minute + 6) / 7)) ++wrong;
    cell.take(1, now);
  }
  CHECK(wrong == 0);
}

TEST_CASE("one at once is never closer than its spacing, and less than a nanosecond wider") {
  rate_cell cell = cell_of({.per_minute = 7, .burst = 1});
  instant now = start;
  for (int sent = 1; sent <= 1'000; ++sent) {
    cell.take(1, now);
    now = cell.earliest(1, now);
    REQUIRE(now == start + sent * duration((minute + 6) / 7));
  }
}

TEST_CASE("at the start there is one burst, and by default that is what a minute gives") {
  rate_cell cell = cell_of({.per_minute = 60, .burst = 5});
  CHECK(cell.available(start) == 5);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(cell.conforms(1, start));
    cell.take(1, start);
  }
  CHECK(!cell.conforms(1, start));
  CHECK(cell.earliest(1, start) == start + 1s);
  CHECK(cell.earliest(5, start) == start + 5s);

  CHECK(cell_of({.per_minute = 60}).burst() == 60);
  CHECK(cell_of({.per_minute = 60}).available(start) == 60);
}

TEST_CASE("a month of idleness gives one burst") {
  rate_cell cell = cell_of({.per_minute = 60, .burst = 5});
  cell.take(5, start);
  const instant later = start + 24h * 30;
  CHECK(cell.available(later) == 5);
  CHECK(!cell.conforms(6, later));
  cell.take(5, later);
  CHECK(!cell.conforms(1, later));
  CHECK(cell.earliest(1, later) == later + 1s);
}

TEST_CASE("more than the burst never goes, however long nothing was sent") {
  rate_cell cell = cell_of({.per_minute = 60, .burst = 5});
  CHECK(cell.possible(5));
  CHECK(!cell.possible(6));
  CHECK(cell.earliest(6, start) == never);
  CHECK(cell.earliest(6, start + 24h) == never);
  CHECK(!cell.conforms(6, start + 24h));
}

TEST_CASE("in no stretch of time is more sent than the burst and what the stretch gives, and nothing waits too long") {
  std::mt19937_64 draw(11);
  for (int round = 0; round < 200; ++round) {
    const auto per_minute = static_cast<std::int64_t>(draw() % 5'000 + 1);
    const auto burst = static_cast<std::int64_t>(draw() % 50 + 1);
    rate_cell cell = cell_of({per_minute, burst});
    std::vector<std::pair<instant, std::int64_t>> sent;
    instant now = start;
    for (int i = 0; i < 60; ++i) {
      now += duration(static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(2 * minute / per_minute)));
      const auto amount = static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(burst) + 1);
      const instant when = cell.earliest(amount, now);
      REQUIRE(cell.conforms(amount, when));
      REQUIRE((when == now || !cell.conforms(amount, when - 1ns)));
      now = when;
      cell.take(amount, now);
      sent.emplace_back(now, amount);
    }
    for (std::size_t first = 0; first < sent.size(); ++first) {
      wide sum = 0;
      for (std::size_t last = first; last < sent.size(); ++last) {
        sum += sent[last].second;
        const wide stretch = (sent[last].first - sent[first].first).count();
        REQUIRE(sum * minute <= wide{burst} * minute + stretch * per_minute);
      }
    }
  }
}

TEST_CASE("what is owed stays owed in units when the rate changes") {
  rate_cell cell = cell_of({.per_minute = 60, .burst = 60});
  cell.take(30, start);
  cell.configure({.per_minute = 120, .burst = 100}, start);
  CHECK(cell.available(start) == 70);
  CHECK(cell.earliest(100, start) == start + 15s);

  SUBCASE("a smaller burst leaves a debt") {
    cell.configure({.per_minute = 60, .burst = 10}, start);
    CHECK(cell.available(start) == -20);
    CHECK(cell.earliest(0, start) == start + 20s);
    CHECK(cell.earliest(1, start) == start + 21s);
  }
  SUBCASE("what has drained before the change stays drained") {
    cell.configure({.per_minute = 60, .burst = 60}, start + 5s);
    CHECK(cell.available(start + 5s) == 40);
  }
  SUBCASE("without a limit nothing is owed, and a new limit begins with its burst") {
    cell.configure({}, start);
    CHECK(!cell.limited());
    CHECK(cell.available(start) == unlimited);
    CHECK(cell.conforms(unlimited, start));
    CHECK(cell.earliest(unlimited, start) == start);
    cell.take(1'000, start);
    CHECK(cell.idle(start));
    cell.configure({.per_minute = 60, .burst = 3}, start + 1s);
    CHECK(cell.available(start + 1s) == 3);
  }
}

TEST_CASE("a burst without a rate is no limit") {
  CHECK(!cell_of({.per_minute = unlimited, .burst = 3}).limited());
  CHECK(cell_of({.per_minute = unlimited, .burst = 3}).possible(4));
}

TEST_CASE("what was not used comes back, but never more than was owed") {
  rate_cell cell = cell_of({.per_minute = 60, .burst = 10});
  cell.take(8, start);
  cell.refund(3, start);
  CHECK(cell.available(start) == 5);
  cell.refund(100, start);
  CHECK(cell.available(start) == 10);
  CHECK(cell.idle(start));

  cell.take(4, start);
  // All of it has drained by then: there is nothing that could be given back.
  cell.refund(4, start + 4s);
  CHECK(cell.available(start + 4s) == 10);
  CHECK(!cell.conforms(11, start + 4s));
}

TEST_CASE("a debt lets nothing through until it has drained to the burst") {
  rate_cell cell = cell_of({.per_minute = 60, .burst = 10});
  cell.take(10, start);
  cell.take(5, start);
  CHECK(cell.available(start) == -5);
  CHECK(!cell.conforms(0, start));
  CHECK(cell.earliest(0, start) == start + 5s);
  CHECK(cell.earliest(1, start) == start + 6s);
  CHECK(!cell.idle(start + 15s - 1ns));
  CHECK(cell.idle(start + 15s));
}

TEST_CASE("whole units are told as there when they may be sent") {
  rate_cell cell = cell_of({.per_minute = 7, .burst = 3});
  cell.take(3, start);
  const duration one{(minute + 6) / 7};
  CHECK(cell.available(start) == 0);
  CHECK(cell.available(start + one - 1ns) == 0);
  CHECK(cell.available(start + one) == 1);
  CHECK(cell.conforms(1, start + one));
  CHECK(!cell.conforms(2, start + one));
}

TEST_CASE("the greatest rates, amounts and instants do not overflow") {
  const instant far = instant::max() - 1s;
  for (const instant now : {instant::min(), start, far}) {
    rate_cell fast = cell_of({.per_minute = unlimited - 1}, now);
    CHECK(fast.burst() == unlimited - 1);
    fast.take(std::int64_t{1} << 62, now);
    CHECK(fast.available(now) == unlimited - 1 - (std::int64_t{1} << 62));
    for (int i = 0; i < 10; ++i) fast.take(unlimited, now);
    CHECK(!fast.conforms(0, now));
    CHECK(fast.available(now) == std::numeric_limits<std::int64_t>::min());
    // Eleven minutes' worth and a half, of which one may be owed.
    const instant free = fast.earliest(0, now);
    CHECK(free == (now == far ? never : now + 9min + 30s + 1ns));
    fast.refund(unlimited, now);
    CHECK(fast.earliest(0, now) == (now == far ? never : now + 8min + 30s + 1ns));

    rate_cell slow = cell_of({.per_minute = 1}, now);
    slow.take(unlimited, now);
    // More than 10^13 years.
    CHECK(slow.earliest(1, now) == never);
  }
}

TEST_CASE("however much is owed, a cell that is configured far in the future reckons on") {
  rate_cell cell = cell_of({.per_minute = 1}, instant::min());
  for (int i = 0; i < 1'000; ++i) cell.take(unlimited, instant::min());
  cell.configure({.per_minute = unlimited - 1}, instant::max());
  CHECK(cell.earliest(0, instant::max()) == never);
  cell.refund(unlimited, instant::max());
  CHECK(!cell.conforms(0, instant::max()));
}

TEST_CASE("without a limit on any axis all goes through and no instant matters") {
  rate_cells cells;
  CHECK(!cells.limited());
  cells.configure({}, start);
  CHECK(!cells.limited());
  const rate_charge much{unlimited, unlimited, unlimited};
  CHECK(cells.possible(much) == rate_axis::none);
  CHECK(cells.first_short(much, instant::min()) == rate_axis::none);
  CHECK(cells.earliest(much, instant::min()) == instant::min());
  cells.take(much, start);
  cells.refund(much, start);
  CHECK(cells.idle(start));
}

TEST_CASE("what is refused on tokens has not used up a request") {
  rate_cells cells = cells_of({.requests = {60, 2}, .input_tokens = {600, 100}});
  CHECK(send(cells, {1, 100, 0}, start));
  CHECK(cells.first_short({1, 1, 0}, start) == rate_axis::input);
  for (int i = 0; i < 100; ++i) CHECK(!send(cells, {1, 1, 0}, start));
  CHECK(cells.available(rate_axis::requests, start) == 1);
  CHECK(send(cells, {1, 0, 0}, start));
  CHECK(cells.first_short({1, 0, 0}, start) == rate_axis::requests);
}

TEST_CASE("of 40 callers of 10 tokens at 100 a minute, ten pass") {
  rate_cells cells = cells_of({.input_tokens = {.per_minute = 100}});
  int passed = 0;
  for (int caller = 0; caller < 40; ++caller) passed += send(cells, {1, 10, 0}, start) ? 1 : 0;
  CHECK(passed == 10);
  // The next one has its ten tokens after a tenth of a minute, and no sooner.
  CHECK(!send(cells, {1, 10, 0}, start + 6s - 1ns));
  CHECK(send(cells, {1, 10, 0}, start + 6s));
}

TEST_CASE("each attempt that is sent is charged once, and one that is refused not at all") {
  rate_cells cells = cells_of({.requests = {60, 3}});
  CHECK(send(cells, {1, 0, 0}, start));
  CHECK(send(cells, {1, 0, 0}, start));
  CHECK(cells.available(rate_axis::requests, start) == 1);
  CHECK(send(cells, {1, 0, 0}, start));
  for (int refused = 0; refused < 10; ++refused) CHECK(!send(cells, {1, 0, 0}, start));
  CHECK(cells.earliest({1, 0, 0}, start) == start + 1s);
}

TEST_CASE("the axis that could never carry a charge is named, the first one first") {
  const rate_cells cells = cells_of({{60, 2}, {600, 100}, {600, 50}});
  CHECK(cells.possible({2, 100, 50}) == rate_axis::none);
  CHECK(cells.possible({3, 101, 51}) == rate_axis::requests);
  CHECK(cells.possible({1, 101, 51}) == rate_axis::input);
  CHECK(cells.possible({1, 100, 51}) == rate_axis::output);
  CHECK(cells.earliest({1, 101, 0}, start) == never);
  CHECK(cells.burst(rate_axis::requests) == 2);
  CHECK(cells.burst(rate_axis::input) == 100);
  CHECK(cells.burst(rate_axis::output) == 50);
}

TEST_CASE("the earliest instant is that of the axis that takes longest") {
  rate_cells cells = cells_of({{60, 1}, {600, 100}, {60, 50}});
  cells.take({1, 100, 50}, start);
  CHECK(cells.first_short({1, 1, 1}, start) == rate_axis::requests);
  CHECK(cells.earliest({1, 1, 1}, start) == start + 1s);
  CHECK(cells.earliest({1, 50, 1}, start) == start + 5s);
  CHECK(cells.earliest({1, 50, 20}, start) == start + 20s);
  CHECK(cells.first_short({1, 50, 20}, start + 4s) == rate_axis::input);
  CHECK(cells.first_short({1, 50, 20}, start + 5s) == rate_axis::output);
  CHECK(cells.first_short({1, 50, 20}, start + 20s - 1ns) == rate_axis::output);
  CHECK(cells.first_short({1, 50, 20}, start + 20s) == rate_axis::none);
  CHECK(cells.earliest({1, 50, 20}, start + 21s) == start + 21s);
}

TEST_CASE("a clock that jumps back opens nothing") {
  rate_cells cells = cells_of({.requests = {60, 1}});
  const instant now = start + 100s;
  CHECK(send(cells, {1, 0, 0}, now));
  CHECK(!send(cells, {1, 0, 0}, start));
  CHECK(cells.earliest({1, 0, 0}, start) == now + 1s);
  CHECK(cells.available(rate_axis::requests, instant::min()) == 0);
  CHECK(!cells.idle(instant::min()));
  cells.take({1, 0, 0}, instant::min());
  CHECK(cells.earliest({1, 0, 0}, now) == now + 2s);
  cells.refund({1, 0, 0}, start);
  CHECK(cells.earliest({1, 0, 0}, now) == now + 1s);
  cells.configure({.requests = {60, 1}}, start);
  CHECK(cells.earliest({1, 0, 0}, start) == now + 1s);
}

TEST_CASE("output beyond what was reserved is charged when it is known, and delays what comes next") {
  rate_cells cells = cells_of({.output_tokens = {600, 100}});
  CHECK(send(cells, {1, 0, 100}, start));
  cells.take({0, 0, 50}, start + 5s);
  CHECK(cells.available(rate_axis::output, start + 5s) == 0);
  CHECK(cells.earliest({1, 0, 10}, start + 5s) == start + 6s);
  cells.take({0, 0, 200}, start + 5s);
  CHECK(cells.available(rate_axis::output, start + 5s) == -200);
  CHECK(cells.earliest({1, 0, 0}, start + 5s) == start + 25s);
}

TEST_CASE("cells are at rest when all three are") {
  rate_cells cells = cells_of({{60, 10}, {60, 10}, {60, 10}});
  CHECK(cells.idle(start));
  cells.take({1, 2, 3}, start);
  CHECK(!cells.idle(start + 2s));
  CHECK(!cells.idle(start + 3s - 1ns));
  CHECK(cells.idle(start + 3s));
  // At rest, it is as good as new: nothing that is sent later tells the difference.
  CHECK(cells.earliest({10, 10, 10}, start + 3s) == start + 3s);
}
