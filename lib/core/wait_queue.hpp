/// \file
/// All that waits: per class, the earliest deadline first, then age.
#pragma once

#include "core/dary_heap.hpp"
#include "core/shed_index.hpp"
#include "core/ticket.hpp"

#include <sluice/core/workload.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::core {

/// push, remove: O(log n). head, worst: O(1).
///
/// Because a class is served by deadline, its head is also the first to expire: there is no other timer structure.
class wait_queue {
 public:
  explicit wait_queue(tickets& all);
  wait_queue(const wait_queue&) = delete;
  wait_queue& operator=(const wait_queue&) = delete;

  void push(std::uint32_t index);
  void remove(std::uint32_t index);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size(std::size_t c) const noexcept { return classes_[c].heap.size(); }
  /// A bit for each class that waits.
  [[nodiscard]] std::uint32_t waiting_classes() const noexcept { return waiting_; }

  /// The next of class `c`. Precondition: it waits.
  [[nodiscard]] std::uint32_t head(std::size_t c) const noexcept { return classes_[c].heap.front().index; }
  [[nodiscard]] instant head_deadline(std::size_t c) const noexcept {
    const std::uint64_t key = classes_[c].heap.front().key;
    return key >= no_deadline ? never : instant(duration(static_cast<std::int64_t>(key) - key_origin));
  }
  /// The one of class `c` that a full queue can best do without, or `shed_index::none`.
  [[nodiscard]] std::uint32_t worst(std::size_t c) const noexcept { return classes_[c].costs.worst(); }

  /// Any waiter of class `c`, by number below `size(c)`; stable until the next change.
  [[nodiscard]] std::uint32_t at(std::size_t c, std::size_t number) const noexcept {
    return classes_[c].heap[number].index;
  }

 private:
  /// Sixteen bytes, so that four children are one cache line.
  struct item {
    std::uint64_t key;
    std::uint32_t index;
    std::uint32_t sequence;
  };
  struct order {
    std::vector<std::uint32_t>* places = nullptr;
    [[nodiscard]] bool before(const item& a, const item& b) const noexcept {
      if (a.key != b.key) return a.key < b.key;
      // Equal deadlines: by age. The difference of the low halves is exact while the two arrived within 2^31 of each other.
      return static_cast<std::int32_t>(a.sequence - b.sequence) < 0;
    }
    void moved(const item& which, std::size_t place) const noexcept {
      (*places)[which.index] = static_cast<std::uint32_t>(place);
    }
  };
  struct one_class {
    dary_heap<item, order> heap;
    shed_index costs;
  };

  static constexpr std::uint64_t no_deadline = std::uint64_t{1} << 63;
  static constexpr std::int64_t key_origin = std::int64_t{1} << 62;

  [[nodiscard]] static std::uint64_t key_of(const ticket& which) noexcept;

  tickets& tickets_;
  std::vector<std::uint32_t> places_;
  shed_index::links links_;
  std::array<one_class, max_workloads> classes_;
  std::size_t size_ = 0;
  std::uint32_t waiting_ = 0;
};

}  // namespace sluice::core
