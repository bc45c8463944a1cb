/// \file
/// `run_pool`: how many whole runs are under way at once, and the permit of one of them.
#pragma once

#include <sluice/agent/run_scope.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <cstddef>
#include <memory>

namespace sluice::agent {

namespace detail {
class run_pool_state;
class run_hold;
}  // namespace detail

/// The right to run one whole run; from `run_pool::admit`. RAII, move-only: losing it cannot lose the place.
///
/// Thread safety: distinct permits; one from one coroutine at a time. Lifetime: may outlive its pool and its run.
class [[nodiscard]] run_permit {
 public:
  run_permit() noexcept;
  run_permit(run_permit&&) noexcept;
  run_permit& operator=(run_permit&&) noexcept;
  ~run_permit();

  [[nodiscard]] explicit operator bool() const noexcept;
  /// Gives the place back. Harmless when it is empty.
  void release() noexcept;

  /// Gives the place back while `work` runs, for instance a child run that needs one too, and takes one again when it
  /// has ended, with the age of the first, so before newer runs of its class.
  ///
  /// Once for each holder: while it is suspended already another suspension, inside or beside the first, changes
  /// nothing, and completes without a place; the last that ends takes it again. On an empty permit, or one that is
  /// released meanwhile, it only runs `work`.
  /// Completes when it has a place again. Errors: those of `run_pool::admit` when it cannot have one again (closed, the
  /// deadline, a circle); what `work` gave is then lost, and the permit empty. Exceptions of `work` pass through, with
  /// or without a place.
  /// Cancellation: that of `work`; then, and while it waits for its place, the permit is empty and it gives
  /// `errc::cancelled`.
  template <typename T>
  [[nodiscard]] asio::awaitable<expected<T, error>> suspended_while(asio::awaitable<T> work);

 private:
  friend class run_pool;
  explicit run_permit(std::shared_ptr<detail::run_hold> hold) noexcept;

  std::shared_ptr<detail::run_hold> hold_;
};

/// A bound on whole runs, for those who want one beside the bound on exchanges: a gate of its own, whose slots are
/// runs.
///
/// A run that holds a place and waits for a child which needs one can wait for ever. When a wait would close such a
/// circle (every holder of a place is above the waiter, or itself waits for something that only the waiter could bring
/// about), it fails at once, with the chain of runs in the message; `run_permit::suspended_while` is what helps. The
/// same when something else closes it, such as a parent that begins to wait for its group: then, of the waits in the
/// circle, the one that began last fails.
///
/// Who waits for whom: a run for the children that it opened itself (`run_scope::child`, `within`) while they are open,
/// for the tasks of a group while `task_group::wait` waits for them, for its tool calls while they run, and for a place
/// in any pool. Everybody else is taken to be getting on, so a circle is never reported where there is none. That the
/// opener of a child waits for it is not known but assumed, since a circle through it would otherwise be a wait without
/// an end; who opens a child and goes on beside it says so (`run_settings::beside_parent`).
/// A group is taken to go well: one of `fail_fast` waits for all its tasks, one with a quorum for as many as it still
/// needs.
///
/// ```cpp
/// agent::run_pool nightly(executor, policy({.slots = 4, .tokens = unlimited}));   // four runs at once
/// auto place = co_await nightly.admit(run);
/// if (!place) co_return place.error().message();
/// auto part = co_await place->suspended_while(research(run));                     // which needs a place of its own
/// ```
///
/// Thread safety: all members, from any thread, except the destructor.
/// Lifetime: the destructor closes it: waiters fail; permits may be released later.
class run_pool {
 public:
  /// `rules`: slots are runs. Throws `error_exception` when they do not hold.
  run_pool(asio::any_io_executor executor, const policy& rules);
  /// The same under another clock, which must outlive it.
  run_pool(asio::any_io_executor executor, const policy& rules, time_source& time);
  run_pool(const run_pool&) = delete;
  run_pool& operator=(const run_pool&) = delete;
  ~run_pool();

  /// A place for this run: in its class, for its tenant, by its working deadline. A run that has one already gets
  /// another; ask once. Completes when there is one. Cancellation: terminal: it leaves the queue, and completes with
  /// `errc::cancelled`; so does `run_scope::cancel`, or its end.
  /// Errors: `errc::refused` with the rejection's words, `errc::deadline_exceeded`, `errc::cancelled`; for a circle,
  /// `errc::refused`: "would wait for ever: nightly/page 7 needs a run's place, and all 2 are held by nightly, which
  /// waits for it, and …".
  [[nodiscard]] asio::awaitable<expected<run_permit, error>> admit(run_scope& who);

  /// Places that are taken, and runs that wait for one.
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::size_t waiting() const;
  /// Refuses what waits and all that comes; who has a place keeps it. Repeating it is harmless.
  void close();

 private:
  std::shared_ptr<detail::run_pool_state> state_;
};

}  // namespace sluice::agent

#include <sluice/agent/detail/suspension.hpp>
