/// \file
/// `task_group`: tasks side by side in a run, of which all, the first failure, or enough successes decide.
#pragma once

#include <sluice/agent/group_options.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/run_settings.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent {

/// What a group gave: the tasks' outcomes, in the order in which they were started.
template <typename T>
class group_result {
 public:
  /// Of a task that was cancelled or never begun: `errc::cancelled`.
  std::vector<expected<T, error>> outcomes;
  group_counts counts{};
  /// Whether the rule is met. If not: the first failure (`fail_fast`), how many succeeded of how many were needed and why the last
  /// of the others failed (`quorum`), `errc::deadline_exceeded` when the run's working deadline came first, or `errc::cancelled`.
  expected<void, error> verdict;
};

/// Tasks that run side by side in a run, each in a child run of its own, so that what one spends is seen apart, and all of
/// it is the run's. Bounded by `group_options::width`.
///
/// A task is `asio::awaitable<expected<T, error>>(run_scope&)`. It is copied or moved in, and kept until it has ended. An exception of
/// a task is a failure with its words. GCC 12: name a lambda that captures anything but references before a `co_await`.
///
/// ```cpp
/// agent::task_group<std::string> group(run, {.rule = agent::group_rule::quorum, .quorum = 30});
/// for (const auto& page : pages) group.start([&](agent::run_scope& own) { return summarise(page, own); });
/// auto found = co_await group.wait();
/// ```
///
/// Thread safety: `start` and `cancel` from any thread; `wait` from one coroutine, once.
/// Lifetime: the run must outlive it. Its destructor cancels what still runs, and does not wait; the run's `leave` does.
template <typename T>
class task_group {
 public:
  using task = std::function<asio::awaitable<expected<T, error>>(run_scope&)>;

  explicit task_group(run_scope& in, group_options how = {});
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group();

  /// Adds a task; it begins when there is room in the width. `how`: of its run (a limit, a deadline, a class). Ones that come
  /// after the group is done, or whose run cannot be opened, have that for their outcome. O(1).
  void start(task work, run_settings how = run_settings("task"));
  /// The same in the place of the last one with this key, which is cancelled if it has not ended: the latest wins. It begins
  /// when there is room, and does not wait for the former one to have stopped.
  void start_latest(std::string key, task work, run_settings how = run_settings("task"));
  /// Cancels all tasks that have not ended; `wait` then completes.
  void cancel() noexcept;

  /// Waits until the rule is met, or cannot be met any more, or the run's working deadline comes; cancels the others, and waits for
  /// them to stop, at most for `group_options::grace`. A task that ignores its cancellation so delays the result by the grace at most.
  /// Cancellation: terminal: as `cancel`; it then completes with `errc::cancelled` for a verdict.
  [[nodiscard]] asio::awaitable<group_result<T>> wait();
};

/// All of `tasks` in a group, which is waited for.
template <typename T>
[[nodiscard]] asio::awaitable<group_result<T>> gather(run_scope& in, std::vector<typename task_group<T>::task> tasks,
                                                      group_options how = {});

}  // namespace sluice::agent
