/// \file
/// `group_core`: what a group of tasks decides: which of them runs, which waits, which is cancelled, and when it is
/// done.
#pragma once

#include <sluice/agent/group_options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::agent::detail {

/// How the work of a task ended.
enum class task_ending : std::uint8_t { succeeded, failed, cancelled };

/// A value that is told what happens, and says what to do; it does nothing itself. Tasks have numbers, in the order of
/// their start. What is said of a task that it knows no longer changes nothing.
/// Complexity: O(log n) in the tasks that it remembers; those without a key, and of each key one that runs and one that
/// has ended.
class group_core {
 public:
  explicit group_core(const group_options& how);

  /// What is to be done now, in this order.
  struct steps {
    /// Their work is to be cancelled.
    std::vector<std::size_t> cancel;
    /// They are forgotten, and so is what they gave.
    std::vector<std::size_t> drop;
    /// Their work is to begin.
    std::vector<std::size_t> begin;
  };

  /// Why it is done.
  enum class verdict : std::uint8_t {
    open,
    /// The rule is met.
    met,
    /// `fail_fast`: one has failed.
    failed,
    /// `quorum`: so many cannot succeed any more.
    out_of_reach,
    /// The run's working deadline has come.
    late,
    cancelled,
  };

  /// One more. Its number is `started() - 1` then.
  [[nodiscard]] steps add(std::optional<std::string_view> key = std::nullopt);
  /// Its work has ended in this way; it runs on, to stop what it has started.
  [[nodiscard]] steps finished(std::size_t number, task_ending how);
  /// It runs no longer; if its work has not been said to have ended, it was cancelled.
  [[nodiscard]] steps gone(std::size_t number);
  /// It is waited for: no more tasks are to come but those that tasks start.
  [[nodiscard]] steps wait();
  /// Its run's working deadline has come; it is cancelled. Only the first of these, and of what the rule decides,
  /// counts.
  [[nodiscard]] steps expire() { return decide(verdict::late); }
  [[nodiscard]] steps cancel() { return decide(verdict::cancelled); }
  /// Gives up those that run still, and gives their numbers. For good, or (`group_wait::verdict`) to end behind it.
  [[nodiscard]] std::vector<std::size_t> abandon();

  struct answer {
    std::size_t number = 0;
    task_ending how = task_ending::cancelled;
    /// Whether it runs on, to stop what it has started; if not, it is forgotten.
    bool leaving = false;
  };
  /// The task with this key that has ended last, once.
  [[nodiscard]] std::optional<answer> take(std::string_view key);
  /// Whether a task with this key waits or runs.
  [[nodiscard]] bool pending(std::string_view key) const;

  [[nodiscard]] verdict decided() const noexcept { return verdict_; }
  /// Decided, and nothing runs any more that is to be waited for.
  [[nodiscard]] bool settled() const noexcept {
    return verdict_ != verdict::open && (how_.wait_for == group_wait::verdict || active_ + leftover_ == 0);
  }
  /// Whether its work had not ended when it was given up.
  [[nodiscard]] bool given_up(std::size_t number) const;
  /// Whether its work has ended in this way; nothing when it has not ended, or it is not known.
  [[nodiscard]] std::optional<task_ending> ending(std::size_t number) const;
  /// Those that have an outcome, in order.
  [[nodiscard]] std::vector<std::size_t> outcomes() const;
  [[nodiscard]] const group_counts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t started() const noexcept { return started_; }
  /// How many it knows of.
  [[nodiscard]] std::size_t remembered() const noexcept { return tasks_.size(); }
  /// How many more have to end well before it is done, and how many of those that could have not begun.
  [[nodiscard]] std::size_t needed() const noexcept;
  [[nodiscard]] std::size_t queued() const noexcept { return queue_.size(); }

 private:
  enum class phase : std::uint8_t {
    queued,
    running,
    /// Its work has ended; it stops what it has started.
    leaving,
    ended,
  };
  /// Of one key.
  struct line {
    std::optional<std::size_t> latest;
    std::optional<std::size_t> answer;
  };
  using lines = std::map<std::string, line, std::less<>>;
  struct task {
    phase now = phase::queued;
    task_ending how = task_ending::cancelled;
    /// A later one with its key took its place, or what it gave was handed out: only its end is of interest.
    bool replaced = false;
    /// Whether `how` has been counted.
    bool counted = false;
    bool given_up = false;
    /// Where its key stands, for the last one of it and the last that has ended.
    std::optional<lines::iterator> key;
    /// Its place in the queue.
    std::uint64_t turn = 0;
  };
  using tasks = std::map<std::size_t, task>;

  void replace(std::size_t former, task& by, steps& then);
  /// It is of no interest any more, but for its end.
  void retire(tasks::iterator which, steps& then);
  /// Records that it has an outcome.
  void conclude(tasks::iterator which, task_ending how, steps& then);
  void judge(steps& then);
  void decide(verdict why, steps& then);
  [[nodiscard]] steps decide(verdict why);
  void begin_more(steps& then);

  group_options how_;
  tasks tasks_;
  lines lines_;
  std::map<std::uint64_t, std::size_t> queue_;
  std::uint64_t turns_ = 0;
  std::size_t started_ = 0;
  /// Those that run, with the ones that are leaving; and those that run though they were replaced.
  std::size_t active_ = 0;
  std::size_t leftover_ = 0;
  /// Those without an outcome that are still wanted.
  std::size_t open_ = 0;
  bool waited_for_ = false;
  verdict verdict_ = verdict::open;
  group_counts counts_;
};

}  // namespace sluice::agent::detail
