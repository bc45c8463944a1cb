// All that waits, by class, tenant and lane.
#include "core/wait_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

/// A queue with two flows in each of two classes: 0 and 1 of class 0, 2 and 3 of class 1.
struct house {
  house() {
    for (std::size_t f = 0; f < 4; ++f) CHECK(flows.open(f / 2, static_cast<std::uint32_t>(f % 2), 1) == f);
  }

  std::uint32_t push(std::uint32_t flow, std::int64_t tokens, instant deadline = never, bool continuing = false,
                     std::uint64_t rank = 0) {
    const std::uint32_t index = take(flow, tokens, deadline);
    queue.push(index, {flow, continuing, rank == 0 ? all[index].sequence : rank});
    return index;
  }
  std::uint32_t park(std::uint32_t flow, std::int64_t tokens, std::uint32_t& lane, instant deadline = never) {
    const std::uint32_t index = take(flow, tokens, deadline);
    lane = queue.park(index, all[index].sequence, lane);
    return index;
  }
  std::uint32_t take(std::uint32_t flow, std::int64_t tokens, instant deadline) {
    const std::uint32_t index = all.take();
    all[index].workload = static_cast<std::uint8_t>(flow / 2);
    all[index].state = ticket::phase::waiting;
    all[index].tokens = tokens;
    all[index].slots = 1;
    all[index].deadline = deadline;
    all[index].sequence = ++sequence;
    return index;
  }
  bool remove(std::uint32_t index) {
    const bool emptied = queue.remove(index);
    all[index].state = ticket::phase::unknown;
    all.give(index);
    return emptied;
  }

  tickets all;
  fair_queue flows;
  wait_queue queue{all, flows};
  std::uint64_t sequence = 0;
};

}  // namespace

TEST_CASE("inside a flow: what has begun, then the earliest deadline, then rank, then age; what is late comes last") {
  house h;
  const std::uint32_t late = h.push(0, 10, instant{} + 1s);
  const std::uint32_t fresh = h.push(0, 10);
  const std::uint32_t old_root = h.push(0, 10, never, false, 1);
  const std::uint32_t dated = h.push(0, 10, instant{} + 9s);
  const std::uint32_t soon = h.push(0, 10, instant{} + 3s);
  const std::uint32_t begun = h.push(0, 10, never, true);
  CHECK(h.queue.head(0) == begun);
  h.remove(begun);
  CHECK(h.queue.head(0) == late);
  CHECK_FALSE(h.queue.is_late(late));
  h.queue.make_late(late, h.all[late].sequence);
  CHECK(h.queue.is_late(late));
  CHECK(h.queue.late_of(0) == late);
  std::vector<std::uint32_t> order;
  while (h.queue.size() != 0) {
    order.push_back(h.queue.head(0));
    h.remove(order.back());
  }
  CHECK(order == std::vector<std::uint32_t>{soon, dated, old_root, fresh, late});
  CHECK(h.queue.late_of(0) == nowhere);
  CHECK(h.queue.waiting_classes() == 0);
}

TEST_CASE("ranks are in order beyond 32 bits of them") {
  house h;
  const std::uint64_t wrap = std::uint64_t{1} << 32;
  const std::uint32_t after = h.push(0, 1, never, false, wrap + 2);
  const std::uint32_t before = h.push(0, 1, never, false, wrap - 1);
  CHECK(h.queue.head(0) == before);
  const std::uint32_t dated_after = h.push(0, 1, instant{} + 1s, false, wrap + 1);
  const std::uint32_t dated_before = h.push(0, 1, instant{} + 1s, false, wrap - 1);
  CHECK(h.queue.head(0) == dated_before);
  h.remove(dated_before);
  CHECK(h.queue.head(0) == dated_after);
  h.remove(dated_after);
  h.remove(before);
  CHECK(h.queue.head(0) == after);
}

TEST_CASE("sizes, bits and what flows ask for follow what comes and goes") {
  house h;
  CHECK(h.queue.empty());
  const std::uint32_t a = h.push(0, 10);
  const std::uint32_t b = h.push(1, 20);
  const std::uint32_t c = h.push(3, 30);
  CHECK(h.queue.size() == 3);
  CHECK(h.queue.size(0) == 2);
  CHECK(h.queue.size(1) == 1);
  CHECK(h.queue.waiting_classes() == 0b11);
  CHECK(h.flows[0].tokens == 10);
  CHECK(h.flows[1].slots == 1);
  CHECK(h.queue.flow_of(c) == 3);
  h.remove(a);
  CHECK(h.queue.head(0) == b);
  h.remove(b);
  CHECK(h.queue.waiting_classes() == 0b10);
  CHECK(h.flows[0].tokens == 0);
  h.remove(c);
  CHECK(h.queue.empty());
}

TEST_CASE("who waits aside counts and expires, but has no turn and is not shed") {
  house h;
  std::uint32_t lane = nowhere;
  const std::uint32_t first = h.park(0, 500, lane, instant{} + 5s);
  const std::uint32_t kept = lane;
  const std::uint32_t second = h.park(0, 100, lane);
  CHECK(lane == kept);
  CHECK(h.queue.is_parked(first));
  CHECK(h.queue.size(0) == 2);
  CHECK(h.queue.parked(0) == 2);
  CHECK(h.queue.waiting_classes() == 0);
  CHECK(h.queue.worst(0) == shed_index::none);
  CHECK(h.queue.earliest_deadline() == instant{} + 5s);
  CHECK(h.queue.earliest() == first);
  CHECK(h.queue.head_of_parked(lane) == first);
  const std::uint32_t turn = h.push(0, 1);
  CHECK_FALSE(h.queue.is_parked(turn));
  CHECK(h.queue.head(0) == turn);
  CHECK(h.queue.worst(0) == turn);
  CHECK_FALSE(h.remove(first));
  CHECK(h.queue.head_of_parked(lane) == second);
  // The last one that leaves it takes the lane along.
  CHECK(h.remove(second));
  CHECK(h.queue.parked(0) == 0);
  std::uint32_t other = nowhere;
  h.park(2, 1, other);
  CHECK(other == kept);
}

TEST_CASE("a paused flow gives up its turn, and a class whose flows are all paused has none") {
  house h;
  const std::uint32_t a = h.push(0, 10);
  const std::uint32_t b = h.push(1, 10);
  CHECK(h.queue.head(0) == a);
  h.queue.pause(0, instant{} + 3s);
  CHECK(h.queue.head(0) == b);
  h.queue.pause(1, instant{} + 2s);
  CHECK(h.queue.waiting_classes() == 0);
  CHECK(h.queue.size(0) == 2);
  CHECK(h.queue.resume_one(instant{} + 1s) == nowhere);
  CHECK(h.queue.resume_one(instant{} + 3s) == 1);
  CHECK(h.queue.resume_one(instant{} + 3s) == 0);
  CHECK(h.queue.resume_one(instant{} + 3s) == nowhere);
  CHECK(h.queue.waiting_classes() == 1);
  // One that leaves while it is paused is not resumed.
  h.queue.pause(0, instant{} + 9s);
  h.remove(a);
  CHECK(h.queue.resume_one(never) == nowhere);
  CHECK(h.queue.head(0) == b);
  h.queue.pause(1, instant{} + 9s);
  h.queue.resume(1);
  CHECK(h.queue.head(0) == b);
}

TEST_CASE("what fits and what is worst are found although nobody asked for them before") {
  house h;
  const std::uint32_t large = h.push(0, 900);
  const std::uint32_t small = h.push(1, 20);
  const std::uint32_t tiny = h.push(0, 3);
  CHECK(h.queue.fitting(0, 1'023, nowhere) == large);
  CHECK(h.queue.fitting(0, 1'023, large) == small);
  CHECK(h.queue.fitting(0, 30, nowhere) == tiny);
  CHECK(h.queue.fitting(0, 31, nowhere) == small);
  CHECK(h.queue.fitting(1, 1'000, nowhere) == shed_index::none);
  const std::uint32_t larger = h.push(1, 1'000);
  CHECK(h.queue.worst(0) == larger);
  h.remove(larger);
  CHECK(h.queue.worst(0) == large);
}

TEST_CASE("the cheapest is known from when it is wanted until it is not") {
  house h;
  const std::uint32_t dear = h.push(0, 900);
  const std::uint32_t cheap = h.push(1, 20);
  const std::uint32_t as_cheap = h.push(0, 20);
  CHECK_FALSE(h.queue.ordered_by_cost(0));
  h.queue.order_by_cost(0, [&](std::uint32_t index) { return static_cast<std::uint64_t>(h.all[index].tokens); });
  CHECK(h.queue.ordered_by_cost(0));
  CHECK_FALSE(h.queue.ordered_by_cost(1));
  CHECK(h.queue.cheapest(0) == cheap);
  h.remove(cheap);
  CHECK(h.queue.cheapest(0) == as_cheap);
  const std::uint32_t cheaper = h.push(1, 5);
  h.queue.add_cost(cheaper, 5);
  CHECK(h.queue.cheapest(0) == cheaper);
  h.remove(cheaper);
  h.remove(as_cheap);
  CHECK(h.queue.cheapest(0) == dear);
  h.queue.forget_costs(0);
  CHECK_FALSE(h.queue.ordered_by_cost(0));
}

TEST_CASE(
    "whatever comes, waits aside, becomes late and goes: heads, the first to expire and the worst agree with a scan") {
  house h;
  struct known {
    std::uint32_t index;
    std::uint32_t flow;
    bool continuing;
    std::uint64_t rank;
    bool late = false;
  };
  std::vector<known> in;
  std::mt19937_64 draw(17);
  const auto upto = [&draw](std::uint64_t most) { return draw() % (most + 1); };
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    if (in.empty() || (in.size() < 120 && upto(1) == 0)) {
      const auto flow = static_cast<std::uint32_t>(upto(3));
      const instant deadline = upto(2) == 0 ? never : instant{} + duration(static_cast<std::int64_t>(upto(50)));
      const bool continuing = upto(4) == 0;
      const std::uint64_t rank = 1 + upto(30);
      in.push_back(
          {h.push(flow, static_cast<std::int64_t>(upto(3'000)), deadline, continuing, rank), flow, continuing, rank});
    } else {
      const auto place = in.begin() + static_cast<std::ptrdiff_t>(upto(in.size() - 1));
      if (upto(3) == 0 && !place->late) {
        h.queue.make_late(place->index, place->rank);
        place->late = true;
      } else {
        h.remove(place->index);
        in.erase(place);
      }
    }
    const auto key = [&h](const known& one) {
      const int lane = one.late ? 2 : one.continuing ? 0 : 1;
      return std::tuple(lane, h.all[one.index].deadline, one.rank, h.all[one.index].sequence);
    };
    for (std::uint32_t flow = 0; flow < 4; ++flow) {
      const known* first = nullptr;
      for (const known& one : in) {
        if (one.flow == flow && (first == nullptr || key(one) < key(*first))) first = &one;
      }
      if (first != nullptr) REQUIRE(h.queue.head_of(flow) == first->index);
    }
    instant earliest = never;
    for (const known& one : in) earliest = std::min(earliest, h.all[one.index].deadline);
    REQUIRE(h.queue.earliest_deadline() == earliest);
    if (earliest != never) REQUIRE(h.all[h.queue.earliest()].deadline == earliest);
    for (std::uint8_t c = 0; c < 2; ++c) {
      const auto badness = [&h](std::uint32_t one) {
        return std::pair(shed_index::bucket_of(h.all[one].tokens), h.all[one].sequence);
      };
      std::uint32_t worst = shed_index::none;
      for (const known& one : in) {
        if (one.flow / 2 == c && (worst == shed_index::none || badness(one.index) > badness(worst))) worst = one.index;
      }
      REQUIRE(h.queue.worst(c) == worst);
    }
  }
}
