/// \file
/// What the core remembers of a request: a ticket from its arrival to its end, and beside it a grant while it holds something.
#pragma once

#include "core/slab.hpp"

#include <sluice/core/cost.hpp>
#include <sluice/core/request.hpp>
#include <sluice/core/time.hpp>

#include <cstdint>

namespace sluice::core {

/// One cache line, because a long queue is as fast as its cache misses are few.
struct alignas(64) ticket {
  enum class phase : std::uint8_t { unknown, waiting, holding };

  std::int64_t tokens = 0;
  std::int64_t output = 0;
  std::int32_t slots = 0;
  std::uint32_t generation = 1;
  std::uint64_t tag = 0;
  std::uint64_t sequence = 0;
  instant arrived{};
  instant deadline = never;
  /// While holding: its grant. While unknown: the next free cell.
  std::uint32_t grant = 0;
  std::uint8_t workload = 0;
  phase state = phase::unknown;
  std::uint8_t preemptions = 0;

  [[nodiscard]] capacity asked() const noexcept { return {slots, tokens}; }
};
static_assert(sizeof(ticket) == 64);

/// No grant, in the links of the list of stoppable work.
inline constexpr std::uint32_t no_grant = 0xffff'ffff;

/// One cache line too: granting and ending work is all that happens while there is room.
struct alignas(64) grant {
  /// Tokens held now; the slots are the ticket's.
  std::int64_t hold = 0;
  /// The greatest usage reported.
  usage used{};
  instant since{};
  std::uint64_t revision = 0;
  /// The order of granting.
  std::uint64_t number = 0;
  /// The request that holds it; the next free cell when nobody does.
  std::uint32_t ticket = 0;
  /// Neighbours among the stoppable work of its class, the newest first.
  std::uint32_t newer = no_grant;
  std::uint32_t older = no_grant;
  bool listed = false;
  bool stoppable = false;
  bool stopping = false;
};
static_assert(sizeof(grant) == 64);

using tickets = slab<ticket, &ticket::grant>;
using grants = slab<grant, &grant::ticket>;

}  // namespace sluice::core
