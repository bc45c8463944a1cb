/// \file
/// `sim::arm`: one way to decide what may start, for comparison with others on the same traffic. To add one, derive
/// from it: a trial tells it what happens, and it answers with actions.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/decision.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::sim {

/// An attempt of a request at the arm's door.
struct arm_request {
  /// Names the request until the trial is told that its attempt has ended or is refused; then it may come again, or the
  /// number names another one. Small: fit for the index of a vector.
  std::uint32_t id = 0;
  /// Counts from 0.
  std::uint32_t attempt = 0;
  sluice::workload workload{};
  sluice::tenant tenant{};
  /// What the caller estimates.
  sluice::cost cost{};
  /// When its first attempt came, and by when it is to be done; `never` for none.
  instant first_arrival{};
  instant deadline = never;
  /// As in the trace: which replica it went to, modulo their number.
  std::uint32_t replica = 0;
};

/// What an arm wants done.
struct arm_action {
  enum class kind : std::uint8_t {
    /// Send the attempt to the provider.
    start,
    /// Turn the attempt away; `why` if that is known.
    refuse,
    /// Stop the attempt, which is with the provider; `ended(stopped)` follows when it has.
    stop,
  };
  kind what = kind::start;
  std::uint32_t id = 0;
  sluice::reason why = sluice::reason::none;
};

/// How an attempt that was started ended.
enum class attempt_end : std::uint8_t {
  /// With its answer.
  completed,
  /// The provider answered 429, at once.
  rejected,
  /// The arm had it stopped. The request is the arm's again: it starts, refuses or keeps it.
  stopped,
  /// Its caller hung up.
  abandoned,
};

/// What an arm holds at an instant, per class, for plots.
struct arm_levels {
  struct level {
    std::int64_t held = 0;
    std::int64_t borrowed = 0;
    std::int64_t waiting = 0;
    /// The class's ceiling on slots that moves by itself; `unlimited` when it has none.
    std::int64_t limit = unlimited;
  };
  std::array<level, max_workloads> classes{};
  /// The limit on slots that follows the provider; `unlimited` when there is none.
  std::int64_t adaptive_limit = unlimited;
};

/// Appends to `out` what is to be done; all of it is done before anything else happens, in order.
class arm {
 public:
  using actions = std::vector<arm_action>;

  explicit arm(std::string name) : name_(std::move(name)) {}
  arm(const arm&) = delete;
  arm& operator=(const arm&) = delete;
  virtual ~arm() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// An attempt has come: start it, refuse it, or keep it waiting.
  virtual void arrive(const arm_request& what, instant now, actions& out) = 0;
  /// A caller no longer waits. Its attempt is forgotten.
  virtual void gave_up(std::uint32_t id, instant now, actions& out) = 0;
  /// A started attempt has come so far; the first time at its first token.
  virtual void progressed(std::uint32_t id, const usage& so_far, instant now, actions& out);
  /// A started attempt is over, and the provider free of it.
  virtual void ended(std::uint32_t id, attempt_end how, const usage& used, instant now, actions& out) = 0;
  /// `wake()` has come.
  virtual void tick(instant now, actions& out);
  /// When `tick` is wanted.
  [[nodiscard]] virtual instant wake() const noexcept { return never; }
  [[nodiscard]] virtual arm_levels levels() const;

 private:
  std::string name_;
};

}  // namespace sluice::sim
