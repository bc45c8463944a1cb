/// \file
/// From keys that users choose to the numbers of cells.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::core {

/// Open addressing with linear probing, at most half full; erasing shifts back what follows, so that there are no
/// tombstones. find, insert, erase: O(1) expected. Allocates only when it has never held so many.
class key_table {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;

  [[nodiscard]] std::uint32_t find(std::uint64_t key) const noexcept {
    if (slots_.empty()) return none;
    for (std::size_t place = home(key);; place = (place + 1) & mask_) {
      const slot& here = slots_[place];
      if (here.value == none || here.key == key) return here.value;
    }
  }

  /// Precondition: `key` is not there, and `value` is not `none`.
  void insert(std::uint64_t key, std::uint32_t value) {
    if (slots_.size() < 2 * (size_ + 1)) grow();
    put(key, value);
    ++size_;
  }

  /// Harmless when it is not there.
  void erase(std::uint64_t key) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct slot {
    std::uint64_t key = 0;
    std::uint32_t value = none;
  };

  // Keys may be any numbers of the caller's: the multiplication spreads those that differ in their low bits alone.
  [[nodiscard]] std::size_t home(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> shift_);
  }
  void put(std::uint64_t key, std::uint32_t value) noexcept;
  void grow();

  std::vector<slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::size_t size_ = 0;
};

}  // namespace sluice::core
