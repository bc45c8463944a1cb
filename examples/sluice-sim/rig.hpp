/// \file
/// `rig`: `core::admission` between callers written for an experiment and a provider, under virtual time. Where a trial
/// plays a trace, a rig lets callers wait for an answer before they ask again, belong to runs and give up.
#pragma once

#include <sluice/core/admission.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/sim/provider_model.hpp>
#include <sluice/sim/random.hpp>
#include <sluice/sim/shared_processor.hpp>
#include <sluice/sim/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice_sim {

/// A request of a caller, and what it will really take.
struct errand {
  sluice::workload workload{};
  sluice::tenant tenant{};
  sluice::run_id run{};
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 1;
  /// The most output that the caller allows, which is what is reserved.
  std::int64_t max_tokens = 1;
  /// The caller gives up so long after the provider was asked; negative: never.
  sluice::duration time_out{-1};
};

/// How an errand ended.
enum class fate : std::uint8_t {
  /// With its answer.
  answered,
  /// The gate turned it away.
  refused,
  /// The provider answered 429.
  rate_limited,
  /// Its caller gave up.
  timed_out,
};

/// What an errand lived through.
struct record {
  errand what;
  fate end = fate::answered;
  sluice::instant arrived{};
  /// Of its last start, if any.
  sluice::instant started = sluice::never;
  sluice::instant first_token = sluice::never;
  sluice::instant ended = sluice::never;
  /// How often it was stopped, and what the provider did for it in vain.
  int stops = 0;
  std::int64_t wasted_tokens = 0;
};

/// Which running work may be stopped. The core takes, of what may be, what has least sunk in it; where a rule leaves it
/// no choice, the rule decides.
enum class victim_rule : std::uint8_t {
  /// All of it: the core's own choice.
  least_sunk,
  /// Only what started last.
  newest,
  /// Only one that is drawn anew each time.
  any,
  /// None.
  nobody,
};

struct rig_rules {
  sluice::policy policy{sluice::capacity{}};
  sluice::sim::provider_model provider{};
  victim_rule victims = victim_rule::least_sunk;
  /// From the core's wish to stop something until the provider is free of it.
  sluice::duration stop_delay{};
  /// The core hears of the first token, and then each time so many more have come.
  std::int64_t report_every = 64;
  std::uint64_t seed = 1;
};

/// Thread safety: none; one thread at a time.
class rig {
 public:
  /// Throws `sluice::error_exception` when the policy is not valid.
  explicit rig(rig_rules rules);
  rig(const rig&) = delete;
  rig& operator=(const rig&) = delete;

  [[nodiscard]] sluice::sim::timeline& time() noexcept { return time_; }
  [[nodiscard]] const sluice::core::admission& gate() const noexcept { return gate_; }
  [[nodiscard]] const sluice::sim::shared_processor& provider() const noexcept { return provider_; }

  /// Sends an errand, now; `then` is told when it is over, in an event of its own.
  void send(const errand& what, std::function<void(const record&)> then);
  /// A root run, or one below `parent`, without limits.
  [[nodiscard]] sluice::run_id open_run(sluice::run_id parent = {});
  void close_run(sluice::run_id which);
  /// The provider is another one from now on.
  void change(const sluice::sim::provider_model& model);
  /// The policy is another one from now on; its revision is seen to.
  void change(sluice::policy policy);

  /// Told of each start at the provider.
  std::function<void(const record&)> on_start = [](const record&) {};

 private:
  struct guest {
    record so_far;
    std::function<void(const record&)> then;
    sluice::core::request asked;
    sluice::core::request_id id{};
    sluice::sim::processor_ticket ticket{};
    /// Tells a start from those before, in tags and alarms.
    std::uint32_t start = 0;
    std::int64_t produced = 0;
    bool running = false;
    bool stopping = false;
    bool marked = false;
    bool over = false;
  };

  [[nodiscard]] bool still(std::uint64_t number, std::uint32_t start) const noexcept {
    return !guests_[number].over && guests_[number].running && guests_[number].start == start;
  }
  void arrive(std::uint64_t number);
  void start(std::uint64_t number);
  void stop(std::uint64_t number);
  void stopped(std::uint64_t number);
  void give_up(std::uint64_t number);
  void end(std::uint64_t number, fate how);
  void provider_did(const sluice::sim::processor_event& what);
  sluice::usage take_back(std::uint64_t number);
  void carry_out();
  void mark_victims();
  void mark(std::uint64_t number, bool stoppable);
  void plan_provider();
  void advance_provider();

  rig_rules rules_;
  sluice::sim::timeline time_;
  sluice::core::admission gate_;
  sluice::sim::shared_processor provider_;
  sluice::sim::random draw_;
  std::vector<guest> guests_;
  /// Those with the provider, in order of their start.
  std::vector<std::uint64_t> running_;
  sluice::core::effects effects_;
  sluice::core::effects doing_;
  std::vector<sluice::sim::processor_event> events_;
  bool busy_ = false;
  sluice::instant wanted_tick_ = sluice::never;
  sluice::instant planned_ = sluice::never;
};

}  // namespace sluice_sim
