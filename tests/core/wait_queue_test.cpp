#include "core/wait_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;

namespace {

std::uint32_t made(tickets& all, std::uint8_t c, instant deadline, std::uint64_t sequence, std::int64_t tokens = 10) {
  const std::uint32_t index = all.take();
  all[index].workload = c;
  all[index].deadline = deadline;
  all[index].sequence = sequence;
  all[index].tokens = tokens;
  return index;
}

}  // namespace

TEST_CASE("per class: the earliest deadline, then age; none comes last") {
  tickets all;
  wait_queue queue(all);
  CHECK(queue.empty());
  CHECK(queue.waiting_classes() == 0);
  const std::uint32_t none_young = made(all, 1, never, 5);
  const std::uint32_t none_old = made(all, 1, never, 1);
  const std::uint32_t late = made(all, 1, instant{} + 9s, 2);
  const std::uint32_t soon_young = made(all, 1, instant{} + 3s, 4);
  const std::uint32_t soon_old = made(all, 1, instant{} + 3s, 3);
  const std::uint32_t other = made(all, 15, never, 6);
  for (const std::uint32_t index : {none_young, none_old, late, soon_young, soon_old, other}) queue.push(index);
  CHECK(queue.size() == 6);
  CHECK(queue.size(1) == 5);
  CHECK(queue.waiting_classes() == ((1U << 1) | (1U << 15)));
  CHECK(queue.head(15) == other);
  CHECK(queue.head_deadline(15) == never);
  std::vector<std::uint32_t> order;
  while (queue.size(1) != 0) {
    order.push_back(queue.head(1));
    CHECK(queue.head_deadline(1) == all[queue.head(1)].deadline);
    queue.remove(queue.head(1));
  }
  CHECK(order == std::vector<std::uint32_t>{soon_old, soon_young, late, none_old, none_young});
  CHECK(queue.waiting_classes() == 1U << 15);
  queue.remove(other);
  CHECK(queue.empty());
}

TEST_CASE("equal deadlines are in order of age beyond 32 bits of it") {
  tickets all;
  wait_queue queue(all);
  const std::uint64_t wrap = std::uint64_t{1} << 32;
  const std::uint32_t before = made(all, 0, instant{} + 1s, wrap - 1);
  const std::uint32_t at = made(all, 0, instant{} + 1s, wrap);
  const std::uint32_t none_before = made(all, 0, never, wrap - 2);
  const std::uint32_t none_after = made(all, 0, never, wrap + 2);
  for (const std::uint32_t index : {none_after, at, none_before, before}) queue.push(index);
  std::vector<std::uint32_t> order;
  while (!queue.empty()) {
    order.push_back(queue.head(0));
    queue.remove(queue.head(0));
  }
  CHECK(order == std::vector<std::uint32_t>{before, at, none_before, none_after});
}

TEST_CASE("any waiter can be taken out, and head and worst stay right") {
  tickets all;
  wait_queue queue(all);
  std::vector<std::uint32_t> in;
  std::mt19937_64 draw(9);
  bool right = true;
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    if (in.empty() || (in.size() < 150 && draw() % 2 == 0)) {
      const instant deadline = draw() % 3 == 0 ? never : instant{} + duration(draw() % 50);
      in.push_back(
          made(all, static_cast<std::uint8_t>(draw() % 2), deadline, step, static_cast<std::int64_t>(draw() % 5'000)));
      queue.push(in.back());
    } else {
      const std::size_t which = draw() % in.size();
      queue.remove(in[which]);
      all.give(in[which]);
      in.erase(in.begin() + static_cast<std::ptrdiff_t>(which));
    }
    right = right && queue.size() == in.size();
    for (std::uint8_t c = 0; c < 2; ++c) {
      std::vector<std::uint32_t> own;
      std::copy_if(in.begin(), in.end(), std::back_inserter(own),
                   [&](std::uint32_t one) { return all[one].workload == c; });
      right = right && queue.size(c) == own.size() && (queue.waiting_classes() >> c & 1U) == (own.empty() ? 0 : 1);
      if (own.empty()) continue;
      const auto place = [&all](std::uint32_t one) { return std::pair(all[one].deadline, all[one].sequence); };
      const auto badness = [&all](std::uint32_t one) {
        return std::pair(shed_index::bucket_of(all[one].tokens), all[one].sequence);
      };
      right = right && queue.head(c) == *std::min_element(own.begin(), own.end(),
                                                          [&](auto a, auto b) { return place(a) < place(b); });
      right = right && queue.worst(c) == *std::max_element(own.begin(), own.end(),
                                                           [&](auto a, auto b) { return badness(a) < badness(b); });
      std::vector<std::uint32_t> listed;
      for (std::size_t number = 0; number < queue.size(c); ++number) listed.push_back(queue.at(c, number));
      right = right && std::is_permutation(listed.begin(), listed.end(), own.begin(), own.end());
    }
    if (!right) FAIL("step " << step);
  }
  CHECK(right);
}
