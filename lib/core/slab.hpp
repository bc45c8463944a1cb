/// \file
/// Numbered cells that do not move: growing copies nothing, and freed cells are used again first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::core {

/// take and give: O(1); memory grows by chunks, and is kept.
template <typename Cell>
class slab {
 public:
  [[nodiscard]] Cell& operator[](std::uint32_t index) noexcept { return chunks_[index >> shift][index & mask]; }
  [[nodiscard]] const Cell& operator[](std::uint32_t index) const noexcept {
    return chunks_[index >> shift][index & mask];
  }

  /// A cell that nobody uses. Its content is what its last user left.
  [[nodiscard]] std::uint32_t take() {
    if (free_.empty()) grow();
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }

  /// Precondition: `index` was taken. Never allocates: the free list has room for every cell.
  void give(std::uint32_t index) noexcept { free_.push_back(index); }

  /// How many cells there are, used or not.
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(chunks_.size() << shift); }

 private:
  static constexpr std::uint32_t shift = 8;
  static constexpr std::uint32_t mask = (1U << shift) - 1;

  void grow() {
    const std::uint32_t first = size();
    chunks_.push_back(std::make_unique<Cell[]>(std::size_t{1} << shift));
    if (free_.capacity() < size()) free_.reserve(std::size_t{size()} * 2);
    for (std::uint32_t index = first + mask + 1; index-- > first;) free_.push_back(index);
  }

  std::vector<std::unique_ptr<Cell[]>> chunks_;
  std::vector<std::uint32_t> free_;
};

}  // namespace sluice::core
