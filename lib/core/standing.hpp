/// \file
/// How the waiting stands: who is next, for how long that holds, what may be expected of it, and what a class is like.
#pragma once

#include "core/fair_queue.hpp"
#include "core/wide.hpp"

#include <sluice/core/cost.hpp>
#include <sluice/core/time.hpp>

#include <cstddef>
#include <cstdint>

namespace sluice::core {

/// Who starts next, and whether it passes one that waits for room.
struct choice {
  std::uint32_t index = nowhere;
  bool passing = false;
};

/// When work could start, as far as is known, and how long it would run; negative when that is not known.
struct prospect {
  instant start = never;
  duration service{-1};
  bool feasible = true;
};

/// Who is next in a class with waiters, as it was found last; found anew when something has moved since.
struct next_waiter {
  std::uint32_t index = nowhere;
  capacity asked{};
  instant arrived{};
  /// When it becomes another one's turn though nothing moves; the past when it may be so at any time.
  instant until = instant::min();
};

/// Up to when, with how many in flight, and by what was learned, all that are next and were looked at can still be
/// done, keep their place, and are next.
struct horizon {
  instant until = instant::min();
  std::size_t in_flight = 0;
  std::uint64_t learned = 0;
};

/// What a class's work is like: how long it runs, in output tokens' time, and the time that it is given, both averages;
/// and how many may run at once for that.
struct habit {
  double length = 0;
  double time_given = 0;
  std::int64_t most_at_once = unlimited;
};

/// What waits asks for.
struct demand {
  std::int64_t slots = 0;
  wide tokens = 0;
};

}  // namespace sluice::core
