/// \file
/// Whom to stop: of the running work that has borrowed, the set that wastes least and covers what is needed.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::core {

/// Running work that could be stopped.
struct victim {
  std::uint32_t grant = 0;
  /// What returns when it stops.
  capacity part{};
  /// What has been spent on it, in tokens, and would be wasted.
  std::int64_t sunk = 0;
  /// The place of its class in the order of priority: the greater goes first among equals.
  std::size_t rank = 0;
  std::size_t workload = 0;
  /// The greater is the newer, and goes first among equals.
  std::uint32_t number = 0;
};

/// What each class has borrowed: no more of it is taken back than that.
using borrowings = std::array<capacity, max_workloads>;

/// A choice is greedy by sunk work, and then drops, the dearest first, whoever turns out not to be needed. Finding the
/// very cheapest set is a knapsack; where all ask for one slot and slots are what is needed, this is it.
class preemption {
 public:
  void clear() noexcept { all_.clear(); }
  void add(const victim& one) { all_.push_back(one); }

  /// Whom to stop for `missing`, in the order in which they were chosen; as many as help when all together do not
  /// suffice. Valid until the next call. O(p log p); allocates only when there have never been so many candidates.
  [[nodiscard]] std::span<const victim> choose(capacity missing, borrowings borrowed);

 private:
  std::vector<victim> all_;
  std::vector<victim> chosen_;
};

}  // namespace sluice::core
