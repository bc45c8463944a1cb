/// \file
/// `group_tasks`: the tasks of a group, whatever they give. Not for users; what `task_group` is a typed face of.
#pragma once

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

namespace sluice::agent::detail {

/// One task: its work, and then what that gave. Used by one at a time: its coroutine, then whoever has its outcome.
class group_task {
 public:
  group_task() = default;
  group_task(const group_task&) = delete;
  group_task& operator=(const group_task&) = delete;
  virtual ~group_task() = default;

  /// Runs the work, once, and keeps what it gives; whether that is a success.
  [[nodiscard]] virtual asio::awaitable<bool> run(run_scope& own) = 0;
  /// The work threw, or could not begin.
  virtual void fail(error why) = 0;
  /// Why it failed; null when it did not.
  [[nodiscard]] virtual const error* failure() const noexcept = 0;
  /// Lets go of the work, which has ended.
  virtual void release() noexcept = 0;
};

/// What became of one task.
class group_outcome {
 public:
  explicit group_outcome(std::shared_ptr<group_task> by) noexcept : task(std::move(by)) {}
  explicit group_outcome(error cancelled) : why(std::move(cancelled)) {}

  /// Has its outcome; null when it was cancelled, for this reason.
  std::shared_ptr<group_task> task;
  error why;
};

class group_end {
 public:
  group_end() = default;

  std::vector<group_outcome> outcomes;
  group_counts counts{};
  expected<void, error> verdict;
};

/// Owned by a shared pointer: the group's, and each task's. Thread safety: all members, from any thread.
class group_tasks {
 public:
  [[nodiscard]] static std::shared_ptr<group_tasks> make(const run_scope& in, const group_options& how);
  group_tasks(const group_tasks&) = delete;
  group_tasks& operator=(const group_tasks&) = delete;
  virtual ~group_tasks() = default;

  virtual void start(std::optional<std::string_view> key, std::shared_ptr<group_task> work, run_settings how) = 0;
  [[nodiscard]] virtual std::optional<group_outcome> poll(std::string_view key) = 0;
  [[nodiscard]] virtual bool pending(std::string_view key) const = 0;
  virtual void cancel() noexcept = 0;
  /// The same for the last time, and without a look at the gate, which may be gone.
  virtual void drop() noexcept = 0;
  [[nodiscard]] virtual asio::awaitable<group_end> wait() = 0;

 protected:
  group_tasks() = default;
};

/// A task that gives a `T`.
template <typename T>
class typed_task final : public group_task {
 public:
  using work_type = std::function<asio::awaitable<expected<T, error>>(run_scope&)>;

  explicit typed_task(work_type work) : work_(std::move(work)) {}

  [[nodiscard]] asio::awaitable<bool> run(run_scope& own) override {
    auto running = work_(own);
    auto gave = co_await std::move(running);
    outcome_.emplace(std::move(gave));
    co_return outcome_->has_value();
  }
  void fail(error why) override { outcome_.emplace(unexpected<error>(std::move(why))); }
  [[nodiscard]] const error* failure() const noexcept override {
    return outcome_ && !*outcome_ ? &outcome_->error() : nullptr;
  }
  void release() noexcept override { work_ = nullptr; }

  [[nodiscard]] static expected<T, error> outcome_of(group_outcome&& from) {
    if (from.task == nullptr) return unexpected<error>(std::move(from.why));
    return *std::move(static_cast<typed_task&>(*from.task).outcome_);
  }

 private:
  work_type work_;
  std::optional<expected<T, error>> outcome_;
};

}  // namespace sluice::agent::detail
