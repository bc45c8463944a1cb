/// \file
/// The waiters of one class by what they are expected to cost.
#pragma once

#include "core/dary_heap.hpp"

#include <cstdint>
#include <vector>

namespace sluice::core {

/// add, remove: O(log n). Made only in overload; costs nothing while it is not active.
class cost_order {
 public:
  [[nodiscard]] bool active() const noexcept { return active_; }
  /// `places` is where each waiter's place is kept; it is shared by all classes, and the same each time.
  void start(std::vector<std::uint32_t>& places) {
    if (!made_) order_ = heap(order{&places});
    active_ = made_ = true;
  }
  void stop() noexcept {
    order_.clear();
    active_ = false;
  }

  void add(std::uint32_t index, std::uint64_t cost, std::uint64_t sequence) {
    order_.push({cost, index, static_cast<std::uint32_t>(sequence)});
  }
  void remove(std::uint32_t place) { order_.erase(place); }
  /// The cheapest, or 0xffffffff.
  [[nodiscard]] std::uint32_t cheapest() const noexcept { return order_.empty() ? 0xffff'ffff : order_.front().index; }
  /// What it costs. Precondition: there is one.
  [[nodiscard]] std::uint64_t least_cost() const noexcept { return order_.front().cost; }

 private:
  struct item {
    std::uint64_t cost;
    std::uint32_t index;
    std::uint32_t sequence;
  };
  struct order {
    std::vector<std::uint32_t>* places = nullptr;
    [[nodiscard]] bool before(const item& a, const item& b) const noexcept {
      return a.cost != b.cost ? a.cost < b.cost : static_cast<std::int32_t>(a.sequence - b.sequence) < 0;
    }
    void moved(const item& which, std::size_t place) const noexcept {
      (*places)[which.index] = static_cast<std::uint32_t>(place);
    }
  };
  using heap = dary_heap<item, order>;

  heap order_;
  bool active_ = false;
  bool made_ = false;
};

}  // namespace sluice::core
