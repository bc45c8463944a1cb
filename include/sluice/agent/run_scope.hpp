/// \file
/// `run_scope`: one run, for as long as it is open: its budget, its deadline, and all that was started in it.
#pragma once

#include <sluice/agent/run_settings.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/tenant.hpp>
#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace sluice::agent {

namespace detail {
class run_state;
template <typename T>
struct within_result;
}  // namespace detail

/// What remained when a scope was left, or zero.
struct leave_result {
  /// Tasks that have not stopped within `run_settings::grace`. They can start nothing any more, and what they give is
  /// dropped.
  std::size_t abandoned = 0;
};

/// One run: opened at the root, on a gate, or inside another run. It pays for every exchange that names it
/// (`call_options`), together with all runs above it, in one step: no run is ever over its limit. Move-only.
///
/// Leaving it cancels what was started in it: task groups, tool calls, child runs. `leave` also waits for them, so end
/// a scope with it, or let `within` do so; the destructor cancels and closes, and cannot wait.
///
/// Thread safety: all members may be called from any thread, except the destructor and moves.
/// Lifetime: its gate must outlive its use and what was started in it, but not its destructor. A child may outlive its
/// parent's scope, but is closed with it: it can pay for nothing any more.
class [[nodiscard]] run_scope {
 public:
  /// Opens a root run on a gate. `executor`: where tasks of the run go; the gate's when it is not given.
  /// Errors: `errc::invalid_argument`, naming the field: a negative limit, reserve, time or width, a reserve above its
  /// limit. `errc::deadline_exceeded` for a deadline that has passed.
  [[nodiscard]] static expected<run_scope, error> open(bulkhead& gate, run_settings how = {},
                                                       asio::any_io_executor executor = {});
  /// Opens a run inside this one, which is taken to wait for it until it is closed, where `run_pool` looks for circles:
  /// most code does, and a wait without an end would be missed otherwise. Who goes on beside the child says so
  /// (`run_settings::beside_parent`); else the child may be refused a place that this run would yet give back.
  /// Errors: as `open`, a reserve (a root's alone), a depth beyond 64; `errc::cancelled` when this run is closed or was
  /// cancelled; `errc::refused` when a carve cannot be funded.
  [[nodiscard]] expected<run_scope, error> child(run_settings how = {});

  run_scope(run_scope&&) noexcept;
  run_scope& operator=(run_scope&&) noexcept;
  /// Cancels what was started in it, and closes it; does not wait.
  ~run_scope();

  /// What a call in this run says: its workload, tenant, run and `working_deadline`. The last answer
  /// says `finalising`: it has the whole deadline and, of a root alone, what was kept for it.
  [[nodiscard]] llm::call_options call_options(bool finalising = false) const;

  [[nodiscard]] const std::string& name() const noexcept;
  /// The names from the root down to this one, with `/` between them.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] run_id id() const noexcept;
  [[nodiscard]] bulkhead& gate() const noexcept;
  [[nodiscard]] asio::any_io_executor get_executor() const noexcept;
  [[nodiscard]] sluice::workload workload() const noexcept;
  [[nodiscard]] sluice::tenant tenant() const noexcept;
  /// By when all of it must be done: `min(parent's working deadline, its own)`.
  [[nodiscard]] instant deadline() const noexcept;
  /// By when ordinary work must be done: the deadline without the time that is kept for the last answer.
  [[nodiscard]] instant working_deadline() const noexcept;
  /// How long until the working deadline; zero when it has passed, `duration::max()` when there is none.
  [[nodiscard]] duration time_left() const;

  /// The account, all below it included. Once it was cancelled nothing remains, and what was begun is still paid; once
  /// it was left it stays as it is.
  [[nodiscard]] run_balance balance() const;
  /// What could still be set aside now: the least over it and the runs that pay with it, the reserve aside.
  [[nodiscard]] spending remaining() const;
  /// Raises its limits, not its parent's. Errors: `errc::invalid_argument`: closed, negative, or carved.
  expected<void, error> extend(const spending& more);
  /// Spends something that is no exchange with a provider: a tool call, or money that a tool takes. All runs that pay
  /// spend it in one step, or none does. Errors: `errc::refused`, naming the run that cannot, its limit and what is
  /// left; `errc::cancelled` when it is closed; `errc::invalid_argument` for a negative amount.
  expected<void, error> charge(const spending& what);

  /// Cancels what was started in it, and refuses what would be started from now on: nothing can be paid by it or below
  /// it any more, calls to models that wait for admission are turned away, and exchanges under way are closed at once,
  /// whoever awaits them: what they gave is paid, and their callers get `errc::cancelled`. What a coroutine of the
  /// caller's own awaits beside models, groups and tools goes on.
  void cancel() noexcept;
  /// Whether it, or a run above it, was cancelled or closed.
  [[nodiscard]] bool cancelled() const noexcept;

  /// Cancels what was started in it, waits until that has stopped, at most for `run_settings::grace`, and closes the
  /// run. Completes then. Cancellation of the caller is put off until then. Leaving again is harmless.
  [[nodiscard]] asio::awaitable<leave_result> leave();

 private:
  friend class detail::run_state;
  explicit run_scope(std::shared_ptr<detail::run_state> state) noexcept;

  std::shared_ptr<detail::run_state> state_;
};

/// Runs `body(run_scope&)` in a run of its own, and leaves that on every path out: when this completes, nothing that
/// was started in the run is going on (but for what did not stop within the grace). `where` is a `bulkhead`, for a
/// root, or a `run_scope`.
///
/// Completes when the run has been left. Gives what `body` gave, wrapped in `expected` unless it is one already of
/// `error`, or why the run could not be opened. Exceptions of `body` pass through. Cancellation: that of `body`.
template <typename Where, typename Body>
[[nodiscard]] auto within(Where& where, run_settings how, Body body) -> asio::awaitable<
    typename detail::within_result<typename std::invoke_result_t<Body&, run_scope&>::value_type>::type>;

}  // namespace sluice::agent

#include <sluice/agent/detail/within.hpp>
