/// \file
/// A four-ary min-heap whose items know their place, so that one can be taken out of the middle in O(log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace sluice::core {

/// Memory aligned to cache lines, for `std::vector`.
template <typename T>
struct cache_line_allocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};
  cache_line_allocator() = default;
  template <typename U>
  explicit(false) cache_line_allocator(const cache_line_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, alignment); }
  friend bool operator==(const cache_line_allocator&, const cache_line_allocator&) noexcept { return true; }
};

/// `Item` is small and trivially copyable. `before(a, b)` is a strict order; `moved(item, place)` is told each new
/// place of an item; both are called with copies. An item of 16 bytes makes the four children of a node one cache line,
/// which is where the time of a large heap goes.
///
/// push, erase, update: O(log n). front: O(1). Places are stable until the next change.
template <typename Item, typename Traits>
class dary_heap {
 public:
  explicit dary_heap(Traits traits = Traits{}) : traits_(traits) {}

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const Item& front() const noexcept { return at(0); }
  [[nodiscard]] const Item& operator[](std::size_t place) const noexcept { return at(place); }

  /// Room for `n` items without another allocation.
  void reserve(std::size_t n) { items_.reserve(n + offset); }

  void push(Item item) {
    if (items_.size() < size_ + 1 + offset) [[unlikely]]
      grow();
    ++size_;
    sift_up(size_ - 1, item);
  }

  /// Takes out the item at `place`.
  void erase(std::size_t place) {
    const Item last = at(size_ - 1);
    --size_;
    if (place == size_) return;
    settle(place, last);
  }

  void pop() { erase(0); }
  /// Takes out everything, and keeps the memory.
  void clear() noexcept { size_ = 0; }

  /// Puts `item` where another one was, and moves it to where it belongs.
  void update(std::size_t place, Item item) { settle(place, item); }

  /// Asks for the memory that the next `pop` will walk through first.
  void prefetch() const noexcept {
    if (size_ > 1) __builtin_prefetch(&at(1));
  }

 private:
  static constexpr std::size_t arity = 4;
  // Children of node i stand at 4i+1 … 4i+4; three unused items in front make each such group start a line.
  static constexpr std::size_t offset = 3;

  // By doubling, and not by one at first: most heaps are small, and are to reach their greatest size soon.
  [[gnu::noinline]] void grow() { items_.resize(size_ == 0 ? offset + 1 + arity : 2 * items_.size()); }

  Item& at(std::size_t place) noexcept { return items_[place + offset]; }
  const Item& at(std::size_t place) const noexcept { return items_[place + offset]; }

  void put(std::size_t place, const Item& item) noexcept {
    at(place) = item;
    traits_.moved(item, place);
  }

  void settle(std::size_t place, const Item& item) noexcept {
    if (place > 0 && traits_.before(item, at((place - 1) / arity))) {
      sift_up(place, item);
    } else {
      sift_down(place, item);
    }
  }

  void sift_up(std::size_t place, Item item) noexcept {
    while (place > 0) {
      const std::size_t parent = (place - 1) / arity;
      if (!traits_.before(item, at(parent))) break;
      put(place, at(parent));
      place = parent;
    }
    put(place, item);
  }

  void sift_down(std::size_t place, Item item) noexcept {
    for (;;) {
      const std::size_t first = place * arity + 1;
      if (first >= size_) break;
      std::size_t best = first;
      const std::size_t end = first + arity < size_ ? first + arity : size_;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (traits_.before(at(child), at(best))) best = child;
      }
      if (!traits_.before(at(best), item)) break;
      put(place, at(best));
      place = best;
    }
    put(place, item);
  }

  std::vector<Item, cache_line_allocator<Item>> items_;
  std::size_t size_ = 0;
  [[no_unique_address]] Traits traits_;
};

}  // namespace sluice::core
