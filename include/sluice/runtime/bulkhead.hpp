/// \file
/// `bulkhead`: the gate. `co_await gate.admit(cost, workload)` asks whether this piece of work should start now, wait,
/// or be turned away.
#pragma once

#include <sluice/core/attempt.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/decision.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/forecast.hpp>
#include <sluice/core/model.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/core/provider_limits.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/statistics.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/runtime/detail/gate_hold.hpp>
#include <sluice/runtime/detail/waiter.hpp>
#include <sluice/runtime/permit.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/use_awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

/// What may be said of a request beyond its cost and class.
struct admit_options {
  /// By when the work must have been let in; `gate.in(30s)` makes one. It is refused when this passes first.
  instant deadline = never;
  /// For work that was preempted and comes again: `permit::age()` of the permit it had.
  sluice::age age{};
  /// On whose behalf. Tenants of a class share it fairly, and each has its own rates.
  sluice::tenant tenant{};
  /// The run that pays, from `bulkhead::open_run`; and whether this is its root's last answer, which may spend the
  /// finalise reserve.
  sluice::run_id run{};
  bool finalising = false;
  /// Where it goes: what it costs, and what is learned about its speed.
  sluice::model model{};
  /// Which try it is: retries and hedges need room in `policy::retries`.
  attempt kind = attempt::first;
};
static_assert(std::is_trivially_destructible_v<admit_options> && std::is_aggregate_v<admit_options>);

/// A whole request, for `async_admit`.
struct admit_request {
  sluice::cost cost{};
  sluice::workload workload{};
  admit_options options{};
};
static_assert(std::is_trivially_destructible_v<admit_request> && std::is_aggregate_v<admit_request>);

/// What remained when `drain` gave up, or zeros.
struct drain_result {
  bool drained = true;
  std::size_t in_flight = 0;
  std::size_t waiting = 0;
};

/// Told that a run has spent or set aside 50, 80, 95 or 100 percent of a limit of its own.
using budget_listener = std::function<void(std::uint32_t percent)>;

/// A bulkhead over slots and in-flight tokens, for all work of a process that shares one provider.
///
/// Waiters are completed on their own associated executor, never from within a call into the bulkhead.
///
/// Thread safety: all members may be called from any thread, except the destructor.
/// Lifetime: the destructor closes it: waiters complete with `reason::closed`; permits stay valid and may be released
/// later. May be destroyed before or after the executor's context; when a context is destroyed first, operations that
/// wait for it are dropped without being invoked, and their capacity is safe.
class bulkhead {
 public:
  /// A gate with this policy, on the steady clock. `executor` runs its timer, and is where most of its callers run:
  /// completions on it are batched.
  /// Throws `error_exception` when the policy does not hold (`validate`).
  bulkhead(asio::any_io_executor executor, const policy& rules);
  /// The same under another clock, which must outlive the bulkhead.
  bulkhead(asio::any_io_executor executor, const policy& rules, time_source& time);
  bulkhead(const bulkhead&) = delete;
  bulkhead& operator=(const bulkhead&) = delete;
  ~bulkhead();

  /// Asks for admission, and waits for it. Gives a permit, or a rejection that says why not; being turned away is a
  /// normal answer, not an exception.
  ///
  /// Room that is there when this is called is taken at once, and the `co_await` then does not suspend; otherwise the
  /// work joins the queue when it is awaited. Start it (`co_await`, `co_spawn`) while the bulkhead lives; an awaitable
  /// that is dropped unstarted gives its room back.
  /// Completes when capacity is granted, the deadline passes, the work is shed, or the bulkhead closes.
  /// Cancellation: terminal, partial and total, as the coroutine's state lets through: it leaves the queue in O(log n)
  /// and completes with `reason::cancelled`. A grant that races with it is given back, and serves the next waiter.
  /// Errors: every `reason`. A negative cost: `invalid_cost`; more than the pool could hold: `impossible`; a deadline
  /// that has passed: `deadline_passed`; a class that is not in the policy: `unknown_class`.
  /// Complexity: O(log n) in waiters; without waiting, two uncontended locks and no allocation beyond Asio's recycled
  /// frame.
  [[nodiscard]] asio::awaitable<expected<permit, rejection>> admit(const cost& asked, workload as = interactive,
                                                                   const admit_options& options = {});

  /// The same without waiting: `reason::no_room` when it cannot start now.
  [[nodiscard]] expected<permit, rejection> try_admit(const cost& asked, workload as = interactive,
                                                      const admit_options& options = {});

  /// What `admit` would answer if it were asked now and nothing else happened meanwhile: that it would start at once,
  /// that it would wait, and for how long as far as that is known, or the rejection. Changes nothing. A cheap question,
  /// though under the lock of all others: see `core::admission::forecast`.
  [[nodiscard]] expected<forecast, rejection> would_admit(const cost& asked, workload as = interactive,
                                                          const admit_options& options = {}) const;

  /// The same for any completion token: the signature is `void(expected<permit, rejection>)`. The handler is called
  /// exactly once, through its associated executor (by default the bulkhead's), never within this call. A handler that
  /// is dropped by its context without being called gives its capacity back.
  template <typename CompletionToken>
  auto async_admit(admit_request what, CompletionToken&& token) {
    return asio::async_initiate<CompletionToken, void(expected<permit, rejection>)>(detail::initiate_admit{gate_},
                                                                                    token, to_core(what));
  }

  /// Admits, runs `work(permit&)` under guard, and releases on every path out. When it is preempted, the work is queued
  /// again with its age and its place, and `work` is called once more. When its run is closed meanwhile, the work is
  /// cancelled, and this gives `reason::unknown_run`, as for work that waits then. `work` takes `permit&` and gives an
  /// `asio::awaitable<T>`; it is moved in, so in GCC 12 name a lambda that captures anything but references before the
  /// `co_await`. Completes with what `work` gave, or the rejection. Exceptions of `work` pass through. Cancellation: as
  /// `admit`, then as `permit::guard`.
  template <typename Work>
  [[nodiscard]] auto run(cost asked, workload as, Work work, admit_options options = {})
      -> asio::awaitable<expected<typename std::invoke_result_t<Work&, permit&>::value_type, rejection>>;

  /// Opens a run, which pays for the requests that name it. `core::admission::open_run` has the errors.
  [[nodiscard]] expected<run_id, error> open_run(const run_options& what = {});
  /// The same, and calls `on_threshold` for each threshold that the run crosses: posted to the bulkhead's executor,
  /// never from within a call into the bulkhead, one call at a time, in rising order, each threshold once unless an
  /// extension has led below it. What it throws is dropped. It may use the bulkhead, and close the run.
  ///
  /// `close_run` and the bulkhead's destructor let go of it, and of what it has not been told yet: where the executor
  /// is one thread or a strand, and they are called there, none comes after them. Called elsewhere, they do not wait
  /// for a call that is on its way already, which may then still begin; no other follows. An executor whose context is
  /// destroyed lets go of it too.
  [[nodiscard]] expected<run_id, error> open_run(const run_options& what, budget_listener on_threshold);
  /// Spends `what` at once, at the run and all that pay with it, or at none; never waits. For what is no request of its
  /// own, such as a call of a tool. Errors: see `charge_refusal`, which names the run that cannot pay.
  expected<void, charge_refusal> charge_run(run_id which, const spending& what);
  /// Raises a run's limits; waiters that can be paid now are served.
  expected<void, error> extend_run(run_id which, const spending& more);
  /// Nothing may be charged to it, or to the runs below it, any more. What waits on their behalf completes with
  /// `reason::unknown_run`; what runs is stopped, where it can be: under `permit::guard`, by `permit::stop_by`, in
  /// `run`. What was taken until then is paid. False when it is not known. Its listener is let go of.
  bool close_run(run_id which);
  /// Stops `what` when the run, or one above it, is closed (`stop_cause::run_closed`); at once when that has happened,
  /// or there is no such run. For what waits on behalf of a run and holds nothing. Forgotten when `what` is gone.
  /// O(1), and each closing of a run is linear in what is registered.
  void stop_with(run_id which, const std::shared_ptr<stop_signal>& what);
  /// The account of an open run.
  [[nodiscard]] std::optional<run_balance> balance(run_id which) const;

  /// The provider asked for a pause (`Retry-After`): nothing starts for so long, and after that starts are spaced
  /// (`policy::reopening`). A shorter one than one in force changes nothing, but a length of zero lifts both.
  void pause(duration length);
  /// What the provider said about its limits in the headers of an answer. It holds beside `policy::rates`, only ever
  /// lowers what may start, and is forgotten when it is not said again for ten minutes: see
  /// `core::admission::report_limits`.
  void report_limits(const provider_limits& said);
  /// The provider signalled trouble, in answer to no permit in particular; `permit::signal` is more exact.
  void signal(provider_signal what);

  /// The last explain records, the oldest first: of waits, rejections and preemptions. O(records).
  [[nodiscard]] std::vector<decision> recent_decisions() const;

  /// Puts a new policy in force; its revision must be greater. Running work is not revoked. See
  /// `core::admission::reconfigure`.
  expected<void, error> reconfigure(const policy& next);

  /// Refuses what waits and all that comes; running work goes on. Repeating it is harmless.
  void close();

  /// Waits until nothing is in flight and nothing waits, at most for `limit`; a limit of zero takes stock at once. It
  /// neither closes nor cancels anything. Cancellation: terminal.
  [[nodiscard]] asio::awaitable<drain_result> drain(duration limit);

  /// From now on records all that happens at the gate, every event with its effects, up to about `most_bytes` of
  /// memory; about 30 bytes a request. Begun before the first admission, the log can be replayed to the byte
  /// (`core::replay`); begun at any time, its work can be put to another policy (`sim::compare`). One that is under way
  /// is dropped. While it is on, each request costs a look at the clock and about 50 ns an event under the gate's lock.
  void start_recording(std::size_t most_bytes = std::size_t{64} << 20U);
  /// Ends the recording, and gives the log; empty when there is none. It holds numbers, and the names in the policy.
  [[nodiscard]] std::string take_recording();

  /// The accounts at this instant. O(classes).
  [[nodiscard]] sluice::statistics statistics() const;
  /// The policy in force, copied.
  [[nodiscard]] policy current_policy() const;

  /// The present, and the present plus `length`: for deadlines.
  [[nodiscard]] instant now() const;
  [[nodiscard]] instant in(duration length) const { return after(now(), length); }
  [[nodiscard]] time_source& time() const noexcept;
  /// The executor it was made with.
  [[nodiscard]] asio::any_io_executor get_executor() const;

 private:
  friend class detail::gate_hold;
  static core::request to_core(const admit_request& what) noexcept;

  detail::gate* gate_;
};

template <typename Work>
auto bulkhead::run(cost asked, workload as, Work work, admit_options options)
    -> asio::awaitable<expected<typename std::invoke_result_t<Work&, permit&>::value_type, rejection>> {
  using value_type = typename std::invoke_result_t<Work&, permit&>::value_type;
  using result_type = expected<value_type, rejection>;
  detail::gate* const gate = gate_;
  for (;;) {
    auto admitted = co_await admit(asked, as, options);
    if (!admitted) co_return result_type(unexpected<rejection>(std::move(admitted).error()));
    permit held = std::move(*admitted);
    auto running = work(held);
    auto done = co_await held.guard(std::move(running));
    if (done) {
      if constexpr (std::is_void_v<value_type>) {
        co_return result_type();
      } else {
        co_return result_type(std::move(*done));
      }
    }
    if (done.error().is(errc::cancelled)) {
      co_return result_type(unexpected<rejection>(detail::refuse_in_closed_run(*gate, to_core({asked, as, options}))));
    }
    options.age = held.age();
    options.kind = attempt::first;
    // The permit, but not the bulkhead, is sure to be still there.
    if (auto gone = detail::refuse_if_abandoned(*gate, to_core({asked, as, options}))) {
      co_return result_type(unexpected<rejection>(std::move(*gone)));
    }
  }
}

}  // namespace sluice
