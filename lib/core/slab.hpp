/// \file
/// Numbered cells that do not move: growing copies nothing, and freed cells are used again first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::core {

/// take and give: O(1); memory grows by chunks, and is kept. A cell that nobody uses lends its member `Link` to the
/// list of free cells, so that they cost no memory beside themselves.
template <typename Cell, std::uint32_t Cell::*Link>
class slab {
 public:
  [[nodiscard]] Cell& operator[](std::uint32_t index) noexcept { return chunks_[index >> shift][index & mask]; }
  [[nodiscard]] const Cell& operator[](std::uint32_t index) const noexcept {
    return chunks_[index >> shift][index & mask];
  }

  /// A cell that nobody uses. Its content is what its last user left, but for `Link`.
  [[nodiscard]] std::uint32_t take() {
    if (free_ == none) grow();
    const std::uint32_t index = free_;
    free_ = (*this)[index].*Link;
    return index;
  }

  /// Precondition: `index` was taken. Never allocates.
  void give(std::uint32_t index) noexcept {
    (*this)[index].*Link = free_;
    free_ = index;
  }

  /// How many cells there are, used or not.
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(chunks_.size() << shift); }

 private:
  static constexpr std::uint32_t shift = 8;
  static constexpr std::uint32_t mask = (1U << shift) - 1;
  static constexpr std::uint32_t none = 0xffff'ffff;

  [[gnu::noinline, gnu::cold]] void grow() {
    const std::uint32_t first = size();
    chunks_.push_back(std::make_unique<Cell[]>(std::size_t{1} << shift));
    for (std::uint32_t index = first + mask + 1; index-- > first;) give(index);
  }

  std::vector<std::unique_ptr<Cell[]>> chunks_;
  std::uint32_t free_ = none;
};

}  // namespace sluice::core
