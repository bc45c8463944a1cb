/// \file
/// `task_set`: the tasks that one owner has started in a run. Not for users; what task groups and tool calls stand on.
#pragma once

#include <sluice/agent/run_scope.hpp>
#include <sluice/core/time.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::agent::detail {

/// Tasks on one strand over the run's executor: no two of them run at the same instant, and each is cancelled there,
/// too. Known to the run: `run_scope::cancel` cancels them, and `leave` waits for them.
///
/// Owned by shared pointers, one of them each task's. Thread safety: all members, from any thread.
class task_set {
 public:
  [[nodiscard]] static std::shared_ptr<task_set> make(const run_scope& in);
  task_set(const task_set&) = delete;
  task_set& operator=(const task_set&) = delete;
  virtual ~task_set() = default;

  /// When a task begins.
  enum class begin : std::uint8_t {
    /// In a later turn of the event loop.
    later,
    /// Where the strand is idle and this is a thread of its context, before `start` returns: what need not wait for
    /// anything costs no turn of the loop. Not with a mutex held that the work may want.
    at_once,
  };
  /// Lets `work` run on the strand; it is numbered by `started`, from 0 up. What it throws is dropped, so catch it
  /// inside. False, and `work` is destroyed without having begun, when the run was cancelled or closed.
  virtual bool start(asio::awaitable<void> work, begin when = begin::later) = 0;

  /// How many were started, and how many of those have not ended.
  [[nodiscard]] virtual std::size_t started() const noexcept = 0;
  [[nodiscard]] virtual std::size_t running() const noexcept = 0;
  [[nodiscard]] virtual bool ended(std::size_t number) const noexcept = 0;

  /// Cancels one, or all (terminal). One that has ended is left alone; one that has not begun ends at its first wait.
  virtual void cancel(std::size_t number) noexcept = 0;
  virtual void cancel_all() noexcept = 0;

  /// Why `changed` completed.
  enum class change : std::uint8_t {
    /// A task has ended, or `notify` was called, since the last `changed` began; or nothing runs.
    progress,
    /// `until` has come.
    late,
    /// The caller was cancelled. The next `changed` waits again: it is not interrupted twice.
    cancelled,
  };
  /// Waits for something to have changed. One waiter at a time. Never throws: a cancelled caller gets `cancelled`,
  /// since it has tasks to wait for first. `or_idle` off: also while nothing runs, for `notify`.
  [[nodiscard]] virtual asio::awaitable<change> changed(instant until, bool or_idle = true) = 0;
  virtual void notify() noexcept = 0;

 protected:
  task_set() = default;
};

}  // namespace sluice::agent::detail
