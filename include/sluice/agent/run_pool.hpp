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

  /// Gives the place back while `work` runs, for instance a child run that needs one too, and takes one again when it has
  /// ended, with the age of the first, so before newer runs of its class. Within a suspension another one changes nothing:
  /// the place is given back once, and taken again when the last has ended.
  /// Completes when it has a place again. Errors: the pool's rejection when it cannot have one again (closed, the deadline, a circle);
  /// what `work` gave is then lost, and the permit empty. Exceptions of `work` pass through, with or without a place.
  /// Cancellation: that of `work`, then as `run_pool::admit`.
  template <typename T>
  [[nodiscard]] asio::awaitable<expected<T, error>> suspended_while(asio::awaitable<T> work);

 private:
  friend class detail::run_pool_state;
  explicit run_permit(std::shared_ptr<detail::run_hold> hold) noexcept;

  std::shared_ptr<detail::run_hold> hold_;
};

/// A bound on whole runs, for those who want one beside the bound on exchanges: a gate of its own, whose slots are runs.
///
/// A run that holds a place and waits for a child which needs one can wait for ever. When a wait would close such a circle (every
/// holder of a place is above the waiter, or itself waits for something that only the waiter could bring about), the wait fails at once,
/// with the chain of runs in the message; `run_permit::suspended_while` is what helps. Who waits for whom: a run for the children that it
/// opened itself (`run_scope::child`, `within`), for the tasks of a group while `task_group::wait` waits for them, for its tool calls while
/// they run, and for a place in any pool. Everybody else is taken to be getting on, so a circle is never reported where there is none.
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

  /// A place for this run: in its class, for its tenant, by its working deadline. A run that has one already gets another; ask once.
  /// Completes when there is one. Cancellation: as `bulkhead::admit`.
  /// Errors: `errc::refused` with the rejection's words, `errc::deadline_exceeded`, `errc::cancelled`; for a circle, `errc::refused`:
  /// "would wait for ever: nightly/research/page 7 needs a run's place, and all 2 are held by nightly/research, which waits for it, and …".
  [[nodiscard]] asio::awaitable<expected<run_permit, error>> admit(run_scope& who);

  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::size_t waiting() const;
  void close();

 private:
  std::shared_ptr<detail::run_pool_state> state_;
};

}  // namespace sluice::agent
