/// \file
/// The last explain records, kept in a ring that is made once.
#pragma once

#include <sluice/core/decision.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::core {

/// next: O(1), allocates nothing.
class explain_ring {
 public:
  /// Room for `records`, rounded up to a power of two; none for zero. What was kept is forgotten when the size changes.
  void resize(std::size_t records) {
    const std::size_t wanted = records == 0 ? 0 : std::bit_ceil(records);
    if (wanted == kept_.size()) return;
    kept_.assign(wanted, decision{});
    written_ = 0;
  }
  [[nodiscard]] bool on() const noexcept { return !kept_.empty(); }

  /// The place of the next record, which takes that of the oldest. Precondition: it is on.
  [[nodiscard]] decision& next() noexcept { return kept_[written_++ & (kept_.size() - 1)]; }

  /// The oldest first.
  [[nodiscard]] std::vector<decision> all() const {
    std::vector<decision> told;
    const std::uint64_t size = kept_.size();
    for (std::uint64_t number = written_ > size ? written_ - size : 0; number < written_; ++number) {
      told.push_back(kept_[number & (size - 1)]);
    }
    return told;
  }

 private:
  std::vector<decision> kept_;
  std::uint64_t written_ = 0;
};

}  // namespace sluice::core
