/// \file
/// What the core remembers of a request: a ticket from its arrival to its end, and beside it a grant while it holds
/// something.
#pragma once

#include "core/slab.hpp"

#include <sluice/core/attempt.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/model.hpp>
#include <sluice/core/request.hpp>
#include <sluice/core/tenant.hpp>
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
  /// Whether it has a `detail`, and whether it runs only because the policy observes, holding nothing.
  bool detailed : 1 = false;
  bool observed : 1 = false;
  /// Whether it stands among what waits to be tried again.
  bool repeats : 1 = false;
  attempt kind : 2 = attempt::first;

  [[nodiscard]] capacity asked() const noexcept { return {slots, tokens}; }
};
static_assert(sizeof(ticket) == 64);

/// What only requests have that name a tenant, a run or a model.
struct alignas(64) detail {
  sluice::model model{};
  sluice::tenant who{};
  /// The age of its root run, or its own.
  std::uint64_t rank = 0;
  /// Its price, and what is set aside for it in its run.
  std::int64_t money = 0;
  std::uint32_t tenant = 0;
  std::uint32_t flow = 0;
  std::uint32_t run = 0xffff'ffff;
  /// The run that it waits for to be able to pay.
  std::uint32_t parked_at = 0xffff'ffff;
  /// The next free cell.
  std::uint32_t link = 0;
  /// Neighbours among the requests of its tree of runs, while it is one of them.
  std::uint32_t newer = 0xffff'ffff;
  std::uint32_t older = 0xffff'ffff;
  bool continuing = false;
  bool finalising = false;
  /// Whether its price has been set aside.
  bool paid = false;
  bool in_tree = false;
};
static_assert(sizeof(detail) == 64);

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
  /// The order of granting; the difference of two is exact while they are within 2^31 of each other.
  std::uint32_t number = 0;
  /// When its first token came after `since`, in microseconds; zero: not yet.
  std::uint32_t first_token = 0;
  /// The request that holds it; the next free cell when nobody does.
  std::uint32_t ticket = 0;
  /// Neighbours among the stoppable work of its class, the newest first.
  std::uint32_t newer = no_grant;
  std::uint32_t older = no_grant;
  /// How many slots were held when it started, its own included; at most 65,535.
  std::uint16_t beside = 0;
  bool listed : 1 = false;
  bool stoppable : 1 = false;
  bool stopping : 1 = false;
};
static_assert(sizeof(grant) == 64);

using tickets = slab<ticket, &ticket::grant>;
using grants = slab<grant, &grant::ticket>;
using details = slab<detail, &detail::link>;

}  // namespace sluice::core
