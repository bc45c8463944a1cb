/// \file
/// Exact integer accounts: what is held and asked for, in all and per class, and whether there is room.
#pragma once

#include "core/wide.hpp"

#include <sluice/core/cost.hpp>
#include <sluice/core/decision.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/core/workload.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// The most that a pool is reckoned to hold, so that sums with overruns on top stay within 64 bits.
inline constexpr std::int64_t largest_pool = std::int64_t{1} << 62;

/// The accounts of one class.
struct account {
  /// The policy's floor, or the part of it that the moving ceiling leaves.
  capacity floor{};
  /// The policy's ceiling, or the class's moving one when that is lower.
  capacity ceiling{};
  std::int64_t fixed_ceiling_slots = 0;
  capacity fixed_floor{};
  capacity held{};
  /// What waits asks for.
  std::int64_t queued_slots = 0;
  wide queued_tokens = 0;
  /// The part of the unmet floor that is asked for: `min(max(0, floor - held), queued)`.
  capacity need{};
};

class ledger {
 public:
  /// Puts new limits in force; what is held and queued stays. Moving limits are lifted.
  void configure(const policy& rules) noexcept;
  /// Moves the limit on all slots, at most the pool's, and a class's ceiling on slots, at most the policy's.
  void limit_slots(std::int64_t slots) noexcept;
  /// What the ceiling leaves of the floor is protected; nothing when it is zero.
  void limit_class(std::size_t c, std::int64_t slots) noexcept;

  /// What stands in the way of `asked` for class `c`, or `constraint::none`.
  [[nodiscard]] constraint room(std::size_t c, capacity asked) const noexcept {
    const account& own = accounts_[c];
    if (asked.slots > own.ceiling.slots - own.held.slots) return constraint::class_slots;
    if (asked.tokens > own.ceiling.tokens - own.held.tokens) return constraint::class_tokens;
    if (asked.slots > free_.slots) return constraint::pool_slots;
    if (asked.tokens > free_.tokens) return constraint::pool_tokens;
    if (within_floor(c, asked)) return constraint::none;
    if (free_.slots - asked.slots < need_.slots - own.need.slots) return constraint::protected_slots;
    if (free_.tokens - asked.tokens < need_.tokens - own.need.tokens) return constraint::protected_tokens;
    return constraint::none;
  }

  /// Whether `asked`, without a negative number, can be held by class `c` at once when nobody waits: then nothing is
  /// protected. False for a class that is closed or not there.
  [[nodiscard]] bool room_at_once(std::size_t c, capacity asked) const noexcept {
    const account& own = accounts_[c];
    return own.ceiling.slots != 0 && asked.slots <= std::min(own.ceiling.slots - own.held.slots, free_.slots) &&
           asked.tokens <= std::min(own.ceiling.tokens - own.held.tokens, free_.tokens);
  }

  /// Whether class `c` would still be within its floor with `asked` on top.
  [[nodiscard]] bool within_floor(std::size_t c, capacity asked) const noexcept {
    const account& own = accounts_[c];
    return asked.slots <= own.floor.slots - own.held.slots && asked.tokens <= own.floor.tokens - own.held.tokens;
  }

  /// Whether `asked` could ever be held by class `c`; a total of zero is closed for now and rules nothing out.
  [[nodiscard]] constraint possible(std::size_t c, capacity asked) const noexcept;

  void take(std::size_t c, capacity amount) noexcept { change_held(c, amount.slots, amount.tokens); }
  void give(std::size_t c, capacity amount) noexcept { change_held(c, -amount.slots, -amount.tokens); }
  /// Changes the tokens held.
  void resize(std::size_t c, std::int64_t tokens_more) noexcept { change_held(c, 0, tokens_more); }

  void queue(std::size_t c, std::int64_t slots, wide tokens) noexcept { change_queued(c, slots, tokens); }
  void unqueue(std::size_t c, std::int64_t slots, wide tokens) noexcept { change_queued(c, -slots, -tokens); }

  [[nodiscard]] const account& operator[](std::size_t c) const noexcept { return accounts_[c]; }
  [[nodiscard]] capacity total() const noexcept { return total_; }
  /// The pool's slots, or the moving limit when that is lower.
  [[nodiscard]] std::int64_t slot_limit() const noexcept { return slot_limit_; }
  /// May be negative after an overrun or a shrink.
  [[nodiscard]] capacity free() const noexcept { return free_; }
  /// Whether any class waits for a part of its floor.
  [[nodiscard]] bool anything_needed() const noexcept { return (need_.slots | need_.tokens) != 0; }
  /// The needs of all classes but `c`.
  [[nodiscard]] capacity needs_beside(std::size_t c) const noexcept {
    return {need_.slots - accounts_[c].need.slots, need_.tokens - accounts_[c].need.tokens};
  }

 private:
  void change_held(std::size_t c, std::int64_t slots, std::int64_t tokens) noexcept {
    account& own = accounts_[c];
    own.held.slots += slots;
    own.held.tokens += tokens;
    free_.slots -= slots;
    free_.tokens -= tokens;
    if (own.queued_slots != 0 || own.queued_tokens != 0) renew_need(own);
  }

  void change_queued(std::size_t c, std::int64_t slots, wide tokens) noexcept {
    account& own = accounts_[c];
    own.queued_slots += slots;
    own.queued_tokens += tokens;
    renew_need(own);
  }

  void renew_need(account& own) noexcept {
    need_.slots -= own.need.slots;
    need_.tokens -= own.need.tokens;
    own.need.slots = std::min(std::max<std::int64_t>(0, own.floor.slots - own.held.slots), own.queued_slots);
    const wide lacking = std::max<std::int64_t>(0, own.floor.tokens - own.held.tokens);
    own.need.tokens = static_cast<std::int64_t>(std::min(lacking, own.queued_tokens));
    need_.slots += own.need.slots;
    need_.tokens += own.need.tokens;
  }

  capacity total_{};
  std::int64_t slot_limit_ = 0;
  capacity free_{};
  capacity need_{};
  std::array<account, max_workloads> accounts_{};
};

}  // namespace sluice::core
