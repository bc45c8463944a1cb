/// \file
/// `newcomer`: a request that has not been let in, as it would stand in the queue.
#pragma once

#include "core/candidate.hpp"
#include "core/wait_queue.hpp"

#include <sluice/core/time.hpp>

#include <cstdint>

namespace sluice::core {

/// A request that has not been let in, as it would stand in the queue.
struct newcomer {
  candidate as;
  /// `placement::flow` is `nowhere` when its tenant has none in its class yet.
  placement where;
  std::uint64_t sequence = 0;
  instant arrived{};
  /// Whether its run could not pay for it now.
  bool parked = false;
  /// Whether its class still goes by cost when it has come: one more arrival may be what ends an overload.
  bool by_cost = false;
  /// The next of its class when it has come; `nowhere` for itself.
  std::uint32_t next = nowhere;
  /// Who leaves the queue because it has come, and another one has to be looked at or may pass; `nowhere` for nobody.
  std::uint32_t leaving = nowhere;
  /// Whether it waits for its tenant's rate behind the next of its tenant.
  bool held_up = false;
};

}  // namespace sluice::core
