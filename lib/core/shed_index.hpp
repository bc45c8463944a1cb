/// \file
/// The waiters of one class by size: finds the one that a full queue can best do without, and one that fits a gap.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::core {

/// The waiters of one class by cost: a list for each power of two of tokens, the youngest in front. All waiters are
/// taken to be worth the same, so the costliest is worth the least for its cost; to within a factor of two, the
/// youngest goes.
///
/// Not active at first: it is made when it is wanted, and given up when nobody waits any more, since keeping it costs
/// three cache misses a waiter. add, remove, worst, fitting: O(1), except that one that comes again with an old age
/// finds its place by walking past the younger ones of its list. The links stand apart from the tickets, packed,
/// because they are touched for every waiter and read for few.
class shed_index {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;

  struct link {
    std::uint32_t younger = none;
    std::uint32_t older = none;
  };
  using links = std::vector<link>;

  [[nodiscard]] bool active() const noexcept { return active_; }
  /// Precondition of both: nobody is in it.
  void start() noexcept { active_ = true; }
  void stop() noexcept { active_ = false; }

  /// `sequence_of(index)` gives the age of a waiter.
  template <typename SequenceOf>
  void add(links& all, std::uint32_t index, std::int64_t tokens, const SequenceOf& sequence_of) {
    const std::size_t bucket = bucket_of(tokens);
    std::uint32_t younger = none;
    std::uint32_t older = bucket < ends_.size() ? ends_[bucket].youngest : none;
    while (older != none && sequence_of(older) > sequence_of(index)) {
      younger = older;
      older = all[older].older;
    }
    insert(all, index, bucket, younger, older);
  }

  void remove(links& all, std::uint32_t index, std::int64_t tokens) noexcept;

  /// The worst waiter, or `none`.
  [[nodiscard]] std::uint32_t worst() const noexcept;
  /// Of the largest magnitude of which every member asks for at most `tokens`, the oldest but for `except`, or `none`.
  [[nodiscard]] std::uint32_t fitting(const links& all, std::int64_t tokens, std::uint32_t except) const noexcept;

  [[nodiscard]] static std::size_t bucket_of(std::int64_t tokens) noexcept {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(tokens)));
  }

 private:
  void insert(links& all, std::uint32_t index, std::size_t bucket, std::uint32_t younger, std::uint32_t older);

  struct list_ends {
    std::uint32_t youngest = none;
    std::uint32_t oldest = none;
  };

  // Made on first use: most classes see few magnitudes.
  std::vector<list_ends> ends_;
  std::uint64_t used_ = 0;
  bool active_ = false;
};

}  // namespace sluice::core
