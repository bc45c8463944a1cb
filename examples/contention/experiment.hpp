/// \file
/// `run_arm`: the load, under one arm, from the first arrival until every account is zero again.
#pragma once

#include "arms.hpp"
#include "load.hpp"
#include "options.hpp"
#include "tally.hpp"

#include <sluice/core/statistics.hpp>
#include <sluice/testing/mock_stats.hpp>

#include <optional>
#include <string>

namespace contention {

/// What one arm gave. A plain value.
class arm_result {
 public:
  arm_result() = default;

  std::string name;
  tally chats;
  tally agents;
  bool with_batch = true;
  /// The gate's accounts after all was done; those named `_total` tell of preemptions and waste.
  sluice::statistics accounts;
  /// What the plain limit still held in the end.
  sluice::statistics limit_accounts;
  /// What the provider says of itself, when it is the mock.
  std::optional<sluice::testing::mock_stats> truth;
  /// From the first arrival to the last end.
  double seconds = 0;

  /// Nothing is held, nobody waits.
  [[nodiscard]] bool drained() const;
};

/// Runs it. Throws `sluice::error_exception` when it cannot be set up.
[[nodiscard]] arm_result run_arm(const arm& which, const load& arrivals, const options& asked);

}  // namespace contention
