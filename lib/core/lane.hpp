/// \file
/// One line of waiters: the earliest deadline first, then rank, then age.
#pragma once

#include "core/dary_heap.hpp"
#include "core/ticket.hpp"

#include <sluice/core/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::core {

/// Ranks are in the order of arrival: a waiter's own age, or that of its root run. `turn` counts those who took a place
/// behind the youngest of a rank later on: where nobody has a deadline they come in that order, before the next rank.
struct lane_rank {
  constexpr explicit(false) lane_rank(std::uint64_t number = 0, std::uint16_t nth = 0) noexcept
      : age(number), turn(nth) {}
  std::uint64_t age;
  std::uint16_t turn;
};

/// A waiter in its lane. Sixteen bytes, so that four children are one cache line. Deadlines come before all that have
/// none, and those are in the order of their ranks: one number says both.
struct lane_item {
  std::uint64_t key;
  std::uint32_t index;
  /// The low half of the rank's age: the difference is exact while two are within 2^31 of each other.
  std::uint32_t rank;
};

inline constexpr std::uint64_t no_deadline_key = std::uint64_t{1} << 63;
inline constexpr std::int64_t deadline_origin = std::int64_t{1} << 62;

[[nodiscard]] inline std::uint64_t lane_key(instant deadline, lane_rank rank) noexcept {
  if (deadline == never) return no_deadline_key + (rank.age << 16U | rank.turn);
  return static_cast<std::uint64_t>(deadline.time_since_epoch().count() + deadline_origin);
}
[[nodiscard]] inline instant deadline_of(std::uint64_t key) noexcept {
  return key >= no_deadline_key ? never : instant(duration(static_cast<std::int64_t>(key) - deadline_origin));
}

[[nodiscard]] inline lane_item item_of(std::uint32_t index, instant deadline, lane_rank rank) noexcept {
  return {lane_key(deadline, rank), index, static_cast<std::uint32_t>(rank.age)};
}

struct lane_order {
  const tickets* all = nullptr;
  std::vector<std::uint32_t>* places = nullptr;
  [[nodiscard]] bool before(const lane_item& a, const lane_item& b) const noexcept {
    if (a.key != b.key) return a.key < b.key;
    if (a.rank != b.rank) return static_cast<std::int32_t>(a.rank - b.rank) < 0;
    return (*all)[a.index].sequence < (*all)[b.index].sequence;
  }
  void moved(const lane_item& which, std::size_t place) const noexcept {
    (*places)[which.index] = static_cast<std::uint32_t>(place);
  }
};

struct lane {
  dary_heap<lane_item, lane_order> waiting;
  /// Its place among the lanes by the deadline of their first, or `nowhere`; and that deadline.
  std::uint32_t expiry_place = 0xffff'ffff;
  std::uint64_t expiry_key = no_deadline_key;
};

/// Lanes by number, in chunks that do not move.
class lane_store {
 public:
  [[nodiscard]] lane& operator[](std::uint32_t number) noexcept { return chunks_[number >> shift][number & mask]; }
  [[nodiscard]] const lane& operator[](std::uint32_t number) const noexcept {
    return chunks_[number >> shift][number & mask];
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(chunks_.size() << shift); }
  /// Makes sure that `number` is there.
  void reach(std::uint32_t number, const lane_order& order) {
    while (size() <= number) {
      auto& made = chunks_.emplace_back(std::make_unique<lane[]>(std::size_t{1} << shift));
      for (std::uint32_t n = 0; n <= mask; ++n) made[n].waiting = dary_heap<lane_item, lane_order>(order);
    }
  }

 private:
  static constexpr std::uint32_t shift = 6;
  static constexpr std::uint32_t mask = (1U << shift) - 1;
  std::vector<std::unique_ptr<lane[]>> chunks_;
};

}  // namespace sluice::core
