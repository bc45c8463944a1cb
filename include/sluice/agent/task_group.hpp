/// \file
/// `task_group`: tasks side by side in a run, of which all, the first failure, or enough successes decide.
#pragma once

#include <sluice/agent/detail/group_tasks.hpp>
#include <sluice/agent/group_options.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/run_settings.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::agent {

/// What a group gave. A plain value.
template <typename T>
class group_result {
 public:
  group_result() = default;

  /// One for each task, in the order in which they were started; without those that a later task with their key took
  /// the place of, or that `poll` has handed out. Of a task that was cancelled or never begun: `errc::cancelled`, and
  /// why, and whether it had not stopped yet.
  std::vector<expected<T, error>> outcomes;
  group_counts counts{};
  /// Whether the rule is met. If not: the first failure (`fail_fast`); how many succeeded of how many were needed, and
  /// why the first of the others failed, with its code, or `errc::invalid_argument` when none did (`quorum`);
  /// `errc::deadline_exceeded` when the run's working deadline came first, with the first failure if there was one;
  /// `errc::cancelled`.
  expected<void, error> verdict;
};

/// Tasks that run side by side in a run, each in a child run of its own, so that what one spends is seen apart, and all
/// of it is the run's. Bounded by `group_options::width`. They begin when they are started, not when they are waited
/// for.
///
/// A task is `asio::awaitable<expected<T, error>>(run_scope&)`. It is copied or moved in, and kept until it has ended.
/// An exception of a task is a failure with its words. When it ends, what it started in its run is cancelled and waited
/// for, as by `run_scope::leave`. GCC 12: name a lambda that captures anything but references before a `co_await`.
///
/// ```cpp
/// agent::task_group<std::string> group(run, {.rule = agent::group_rule::quorum, .quorum = 30});
/// for (const auto& page : pages) group.start([&](agent::run_scope& own) { return summarise(page, own); });
/// auto found = co_await group.wait();
/// ```
///
/// For a loop that is never to wait, such as a game's: `start_latest` puts a request in the place of the one before it,
/// and `poll` asks each frame whether there is an answer. The group then remembers no more than one task and one answer
/// for each key, for however long; end it by its destructor, or by leaving the run. Its rule is best `collect`: the
/// others end it for good.
///
/// Thread safety: `start`, `start_latest`, `poll`, `pending` and `cancel` from any thread; `wait` from one coroutine,
/// once.
/// Lifetime: its run's gate must outlive it and its tasks; of the run scope it needs no more than what it is called
/// with. A group made in a run that was cancelled or closed starts nothing. Its destructor cancels what still runs, and
/// does not wait; the run's `leave` does. So tasks may outlive the group: when it is destroyed, when the grace is over,
/// and, with `group_wait::verdict`, as a rule. What those refer to must outlive the run's `leave`, as what lives
/// outside of `within` does.
template <typename T>
class task_group {
 public:
  using task = std::function<asio::awaitable<expected<T, error>>(run_scope&)>;

  explicit task_group(run_scope& in, group_options how = {}) : tasks_(detail::group_tasks::make(in, how)) {}
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group() { tasks_->drop(); }

  /// Adds a task; it begins when there is room in the width. `how`: of its run (a limit, a deadline, a class). One
  /// whose run cannot be opened has failed with that; one that comes after the group is done is cancelled, and after
  /// `wait` has completed it is dropped. O(log n) in the tasks.
  void start(task work, run_settings how = run_settings("task")) {
    tasks_->start(std::nullopt, std::make_shared<detail::typed_task<T>>(std::move(work)), std::move(how));
  }
  /// The same in the place of the last one with this key: the latest wins. If that one has not begun, it never does,
  /// and this has its turn; if it runs, it is cancelled at once, and this begins when there is room, without waiting
  /// for it to have stopped. If it has ended, what it gave is there until this one ends.
  void start_latest(std::string_view key, task work, run_settings how = run_settings("task")) {
    tasks_->start(key, std::make_shared<detail::typed_task<T>>(std::move(work)), std::move(how));
  }
  /// What the last task with this key that has ended gave, once: it is handed out, and forgotten. Nothing when none has
  /// ended since, or `wait` has completed. Never waits.
  [[nodiscard]] std::optional<expected<T, error>> poll(std::string_view key) {
    auto ended = tasks_->poll(key);
    if (!ended) return std::nullopt;
    return detail::typed_task<T>::outcome_of(std::move(*ended));
  }
  /// Whether a task with this key waits for its turn, or runs.
  [[nodiscard]] bool pending(std::string_view key) const { return tasks_->pending(key); }
  /// Cancels all tasks that have not ended; `wait` then completes.
  void cancel() noexcept { tasks_->cancel(); }

  /// Waits until the rule is met, or cannot be met any more, or the run's working deadline comes; cancels the others,
  /// and waits for them to stop, at most for `group_options::grace`, or, of `group_wait::verdict`, not at all.
  /// Completes then. A task that ignores its cancellation so delays the result by the grace at most. Of one that has
  /// not stopped by then the run is closed: it can start and pay for nothing any more; what it gives is dropped; and
  /// the run waits for it when it is left.
  ///
  /// A group without tasks is done at once: its rule is met, but for a quorum above zero. Waiting again gives no
  /// outcomes, and `errc::invalid_argument` for a verdict. Cancellation: terminal: as `cancel`; it then completes with
  /// `errc::cancelled` for a verdict, unless the group was done before. As always with Asio's coroutines, the caller's
  /// next `co_await` then throws.
  [[nodiscard]] asio::awaitable<group_result<T>> wait() {
    const auto tasks = tasks_;
    auto end = co_await tasks->wait();
    group_result<T> result;
    result.outcomes.reserve(end.outcomes.size());
    for (auto& each : end.outcomes) result.outcomes.push_back(detail::typed_task<T>::outcome_of(std::move(each)));
    result.counts = end.counts;
    result.verdict = std::move(end.verdict);
    co_return result;
  }

 private:
  std::shared_ptr<detail::group_tasks> tasks_;
};

/// All of `tasks` in a group, which is waited for.
template <typename T>
[[nodiscard]] asio::awaitable<group_result<T>> gather(run_scope& in, std::vector<typename task_group<T>::task> tasks,
                                                      group_options how = {}) {
  task_group<T> group(in, how);
  for (auto& each : tasks) group.start(std::move(each));
  tasks.clear();
  auto result = co_await group.wait();
  co_return result;
}

}  // namespace sluice::agent
