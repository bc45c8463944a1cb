/// \file
/// The arms that come with the simulator: what people do today, and sluice's own policy.
#pragma once

#include <sluice/core/policy.hpp>
#include <sluice/core/time.hpp>
#include <sluice/sim/arm.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace sluice::sim {

/// Everything is sent at once.
[[nodiscard]] std::unique_ptr<arm> make_open_arm();

/// One pool of slots and tokens, reserved by estimate until the end; what does not fit is refused at once.
[[nodiscard]] std::unique_ptr<arm> make_fail_fast_arm(capacity pool);

/// Replicas that know nothing of each other, each with its own slots and a short line.
struct replica_caps {
  std::uint32_t replicas = 4;
  std::int64_t slots = 8;
  std::size_t may_wait = 4;
  duration wait_at_most = std::chrono::seconds(2);
  /// Batch goes to the last replica alone, interactive work to the one that it draws.
  bool batch_on_last = true;
};
[[nodiscard]] std::unique_ptr<arm> make_static_cap_arm(const replica_caps& caps);

/// One pool of slots with a line in front of it that nobody is turned away from.
struct queue_rules {
  /// Who is served first.
  enum class order : std::uint8_t {
    /// Whoever came first.
    arrival,
    /// Interactive work, and then whoever came first.
    workload,
    /// Whoever has to be done first.
    deadline,
  };
  order first = order::arrival;
  std::int64_t slots = 32;
  /// The most batch work at once.
  std::int64_t batch_at_most = std::numeric_limits<std::int64_t>::max();
};
[[nodiscard]] std::unique_ptr<arm> make_queue_arm(std::string name, const queue_rules& rules);

/// `core::admission` itself under `rules`: waits with its deadline, reports as tokens come, settles by what was really used,
/// and is preempted and comes again with its age, as in production. A 429 is told to it as a signal.
/// Throws `error_exception` when the policy is not valid.
[[nodiscard]] std::unique_ptr<arm> make_policy_arm(std::string name, policy rules);

}  // namespace sluice::sim
