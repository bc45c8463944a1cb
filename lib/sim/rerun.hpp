/// \file
/// A recorded run once more, under another policy.
#pragma once

#include <sluice/core/policy.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/sim/recorded_run.hpp>

#include <vector>

namespace sluice::sim {

/// What became of a piece of work the second time, and whether the log did not say how long it would run, so that what
/// is usual in its class was taken.
struct rerun_fate {
  sim::fate fate{};
  bool estimated = false;
};

/// The fates, in the order of `then.requests`, until the log's end. `classes` names each class of the log in `rules`.
/// Precondition: `rules` is valid. O(log n) an event.
[[nodiscard]] std::vector<rerun_fate> rerun(const recorded_run& then, const policy& rules,
                                            const std::vector<workload>& classes);

}  // namespace sluice::sim
