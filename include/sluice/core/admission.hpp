/// \file
/// `core::admission`: the whole of the policy as one deterministic state machine. Events go in with their instant,
/// effects come out. It reads no clock, starts no thread, opens no socket and calls no user code, so that one and the
/// same code runs in production, in the simulator and in a model checker.
#pragma once

#include <sluice/core/adaptive.hpp>
#include <sluice/core/decision.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/forecast.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/core/provider_limits.hpp>
#include <sluice/core/request.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::core {

class event_log_writer;

/// What the machine wants done.
struct effect {
  enum class kind : std::uint8_t {
    /// `id` now holds its capacity.
    granted,
    /// `id` is turned away and known no longer; `detail` is the place of its decision in `effects::decisions`.
    rejected,
    /// The work of `id` is to be stopped; when it has really stopped, `finish(id, ending::preempted, …)`.
    preempt,
    /// `tick` is wanted at `at`, or not at all any more (`never`). Replaces an earlier wish.
    wake_at,
    /// A run has spent or set aside `detail` percent of its budget; `tag` is the run's, and `run()` names it. Once for
    /// each of 50, 80, 95, 100.
    budget_threshold,
    /// The run of `id`, which holds capacity, was closed: its work is to be stopped. It ends as usual.
    stop,
  };
  kind what{};
  std::uint32_t detail = 0;
  request_id id{};
  std::uint64_t tag = 0;
  instant at{};

  /// Of `budget_threshold`: its run, which stands in `id`.
  [[nodiscard]] run_id run() const noexcept { return {id.index, id.generation}; }
};

/// A buffer of effects that the caller owns, clears and hands in, so that nothing is allocated in the steady state.
class effects {
 public:
  void clear() noexcept {
    list.clear();
    decisions.clear();
  }
  std::vector<effect> list;
  /// The decisions behind `rejected` effects.
  std::vector<decision> decisions;
};

/// How a grant ended.
enum class ending : std::uint8_t {
  /// The work ran to its end. When its usage is known, it is a sample of the service model.
  released,
  /// It was stopped because of a `preempt` effect; what it consumed is booked as waste. No sample.
  preempted,
  /// It failed, or its owner stopped it before its end: what it consumed is charged, but it is no sample.
  abandoned,
};

/// The state machine.
///
/// Order of service: classes whose head fits within their floor first, then class priority; inside a class, tenants by
/// start-time fair queueing over tokens; inside a tenant, the next step of a run that has started something and has
/// nothing under way, then the earliest deadline, then the age of the root run, then age. A run with several waiting
/// has its turn with one of them; then the next takes a place at the end of the line, so that forking buys nothing. In
/// overload, inside a class the cheapest that can still be done in time. A better-placed head that waits for room in
/// the pool may be passed by what fits, within `bypass_policy`; a head that waits only for its own class's ceiling, for
/// capacity protected for others, or for its tenant's rate, holds nobody else up.
///
/// The same events with the same instants give the same effects, always. An `now` earlier than a former one counts as
/// the former one.
///
/// Complexity, with n waiting, T tenants and K classes: arrive, cancel, each expiry and each grant O(log n + log T +
/// K), and the depth of the run; finish and progress O(K) and the grants that follow; a preemption O(p log p) in
/// running work that could be stopped; `close`, `reconfigure`, a shrink of the adaptive limit and the beginning of an
/// overload O(n). Nothing is allocated while the number of requests, tenants and runs known at once does not reach a
/// new maximum.
/// Thread safety: none; one thread at a time.
class admission {
 public:
  /// Throws `error_exception` when `validate(policy)` fails.
  explicit admission(policy initial);
  admission(admission&&) noexcept;
  admission& operator=(admission&&) noexcept;
  ~admission();

  /// A request has come. Its own outcome is among the effects, unless it waits; a rejected one is known no longer.
  request_id arrive(const request& what, instant now, effects& out);

  /// The same, when there is room and nobody waits: grants, without effects. Gives nothing, and changes nothing, in all
  /// other cases. `now` matters only to a request with a deadline; without one it may be `instant::min()`, so that
  /// nothing has to be asked of the clock.
  [[nodiscard]] std::optional<request_id> arrive_at_once(const request& what, instant now) {
    const request_id id = enter(what, now);
    if (id == request_id{}) return std::nullopt;
    return id;
  }
  /// The same without the wrapping: `request_id{}`, which names nobody, in all other cases.
  [[nodiscard]] request_id enter(const request& what, instant now);

  /// A waiting request is wanted no more. Gives false, and changes nothing, when it does not wait (any longer).
  bool cancel(request_id id, instant now, effects& out);

  /// Time has passed: deadlines in the queue, restoration of floors.
  void tick(instant now, effects& out);

  /// A running exchange reports how far it has come; what it no longer needs goes to others at once. Reports that
  /// do not go beyond a former one change nothing. False when nothing was changed because `id` holds nothing.
  /// Errors: `errc::invalid_argument` for a negative number, or a `remaining_output` above the reserved output.
  expected<void, error> report(request_id id, const progress& how_far, instant now, effects& out);

  /// Whether the work of a granted request could be stopped by a `preempt` effect. Off until this says otherwise.
  void set_stoppable(request_id id, bool stoppable, instant now, effects& out);

  /// Whether `set_stoppable(id, true)` would make a difference: its class is preemptible, and it has not been preempted
  /// too often.
  [[nodiscard]] bool could_be_preempted(request_id id) const noexcept;
  /// Whether the work of a granted request may have to be stopped: it could be preempted, or is in a run.
  [[nodiscard]] bool could_be_stopped(request_id id) const noexcept;
  /// Whether the run of a granted request, or one above that, has been closed: a `stop` effect has said so already.
  [[nodiscard]] bool in_closed_run(request_id id) const noexcept;

  /// A grant ends and its capacity returns. `used` is what it really took, if that is known; else what was reported
  /// last. False, and nothing changes, when `id` holds nothing (any longer): a grant ends once.
  bool finish(request_id id, ending how, const std::optional<usage>& used, instant now, effects& out);

  /// Puts a new policy in force. Running work is not revoked: after a shrink nothing new starts until enough has ended.
  /// Waiters that fit now start now; those that could never fit any more are rejected.
  /// Errors: `errc::stale_revision`, `errc::invalid_configuration` (also when the class table differs in names or
  /// length); then nothing has changed.
  expected<void, error> reconfigure(policy next, instant now, effects& out);

  /// Refuses what waits and all that comes; running work goes on. Harmless when repeated.
  void close(instant now, effects& out);

  /// The provider said something about its load in answer to `id`; `request_id{}` when it is not known which.
  void signal(request_id id, provider_signal what, instant now, effects& out);
  /// The provider asked for a pause: nothing starts before `until`, and after that the gate opens again as
  /// `policy::reopening` says. A shorter pause than one in force changes nothing; one that has ended already lifts
  /// both.
  void pause(instant until, instant now, effects& out);
  /// The provider said what it lets through. What it says holds beside `policy::rates`: where it has said a limit and
  /// what remains of it, a rate of that limit, of which no more is there now than remains; where it has said what
  /// remains, and when all of it is there again, but no limit, no more than that before then. It raises nothing,
  /// refuses nothing for good, and is forgotten when it is not said again for ten minutes.
  void report_limits(const provider_limits& said, instant now, effects& out);

  /// Opens a run. O(depth).
  /// Errors: `errc::invalid_argument` for a negative limit, an unknown parent, a finalise reserve below a root or above
  /// its limit, more than 64 runs above each other; `errc::refused` for a carve that the parent cannot fund.
  expected<run_id, error> open_run(const run_options& what, instant now);
  /// Raises the limits of a run; waiters that can be paid now are served. `unlimited` on an axis lifts that limit.
  /// Errors: `errc::invalid_argument` for an unknown run, a negative amount, or a carved run.
  expected<void, error> extend_run(run_id id, const spending& more, instant now, effects& out);
  /// Spends `what` at once, at the run and all that pay with it, or at none: what is no request, such as a call of a
  /// tool. Never from the finalise reserve. Waiters that cannot be paid any more are rejected. Under a policy that only
  /// observes, what cannot be paid is let through, and not spent. O(depth), and the rejections and grants that follow.
  /// Errors: see `charge_refusal`; then nothing has changed.
  expected<void, charge_refusal> charge_run(run_id id, const spending& what, instant now, effects& out);
  /// Whether a run has crossed a threshold of which no effect has told yet: in `open_run` or `enter`, which have none.
  /// The next event that has effects will.
  [[nodiscard]] bool thresholds_untold() const noexcept;
  /// Closes a run: nothing new may be charged to it or below it; of what it and the runs below it have asked for, what
  /// holds capacity is to be stopped (`stop`; not what runs only because the policy observes), and what waits is
  /// rejected (`unknown_run`). Its account is kept until that has ended, and with `hold`, so that it can be read
  /// (`balance`), until it is closed once more without; then what a carved child did not spend goes back. False when it
  /// is not known. O(1) and what follows from that when it has nothing under way, else linear in the requests of its
  /// tree.
  bool close_run(run_id id, instant now, effects& out, bool hold = false);
  /// Whether a run, and all above it, are open. O(1) while none of its tree is closed, else O(depth).
  [[nodiscard]] bool may_charge(run_id id) const noexcept;
  /// The account of a run that is open, or closed and held.
  [[nodiscard]] std::optional<run_balance> balance(run_id id) const;

  [[nodiscard]] const policy& current_policy() const noexcept;
  [[nodiscard]] bool closed() const noexcept;
  /// How many wait, and how many hold something.
  [[nodiscard]] std::size_t waiting() const noexcept;
  [[nodiscard]] std::size_t in_flight() const noexcept;
  /// The latest instant that an event has brought.
  [[nodiscard]] instant now() const noexcept;
  [[nodiscard]] sluice::statistics statistics() const;

  /// What `arrive` would answer at `now`, as long as nothing else happens, without anything being changed; or the
  /// decision that would turn it away. What is due by then is not done first: waiters whose time is over, limits that
  /// would move. Nor is it followed what becomes of others: where another one is shed for it, or starts as it comes, it
  /// may start though it is said to wait, or be refused for another reason, or for what is left for its deadline.
  /// O(log n + K); where a queue is full or a head waits for room, O(n log n) once.
  [[nodiscard]] expected<sluice::forecast, decision> forecast(const request& what, instant now) const;

  /// The explain record of a request that waits or holds. Nothing for one that is not known.
  [[nodiscard]] std::optional<decision> explain(request_id id) const;
  /// The age of a request that waits or holds, with which it may come again; a preempted one is counted as such by
  /// `finish`'s caller through `age.preemptions`.
  [[nodiscard]] std::optional<age> age_of(request_id id) const;

  /// The explain records kept, the oldest first: one for each request that had to wait, each rejection, and each
  /// preemption.
  [[nodiscard]] std::vector<decision> recent() const;

  /// Whether instants matter even when there is room: because rates are held or durations are learned.
  [[nodiscard]] bool needs_time() const noexcept;

  /// The tags of all waiting requests, in no particular order. O(n).
  [[nodiscard]] std::vector<std::uint64_t> waiting_tags() const;

  /// Checks I1 to I7 from scratch and names the first that does not hold. O(n + permits). For tests and sampling.
  [[nodiscard]] std::optional<std::string> broken_invariant() const;

  /// From now on every call of a member that can change the machine is written to `log`, with its effects, at the
  /// instant that counted; null: no longer. The log begins with the policy in force, and can be replayed when the
  /// machine has seen no event yet. `log` must outlive the machine or the next call of this. Off, it costs one branch a
  /// call.
  void record(event_log_writer* log) noexcept;

 private:
  class state;
  template <typename Body, typename Call>
  auto logged(const Body& what, instant now, effects& out, const Call& call);
  // Apart, so that the way of every request stays short.
  request_id arrive_logged(const request& what, instant now, effects& out);
  request_id enter_logged(const request& what, instant now);
  bool finish_logged(request_id id, ending how, const std::optional<usage>& used, instant now, effects& out);

  std::unique_ptr<state> state_;
  event_log_writer* log_ = nullptr;
};

}  // namespace sluice::core
