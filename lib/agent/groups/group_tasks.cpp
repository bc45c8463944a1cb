#include <sluice/agent/detail/group_tasks.hpp>

#include "agent/groups/group_core.hpp"
#include "agent/pools/wait_graph.hpp"
#include "agent/runs/run_state.hpp"

#include <sluice/agent/detail/task_set.hpp>
#include <sluice/core/time.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/this_coro.hpp>

#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace sluice::agent::detail {

namespace {

error error_of(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const error_exception& why) {
    return why.why();
  } catch (const std::system_error& why) {
    if (why.code() == std::errc::operation_canceled) return {errc::cancelled, "the task was cancelled"};
    return {why.code(), std::string("the task threw: ") + why.what()};
  } catch (const std::exception& why) {
    return {errc::invalid_argument, std::string("the task threw: ") + why.what()};
  } catch (...) {
    return {errc::invalid_argument, "the task threw something that is no std::exception"};
  }
}

/// The mutex is taken before those of runs, of the task set and of the wait graph.
class group_in_run final : public group_tasks, public std::enable_shared_from_this<group_in_run> {
 public:
  group_in_run(const run_scope& in, const group_options& how)
      : in_(run_state::of(in)), how_(how), core_(how), set_(task_set::make(in)), awaited_(in_->waits()) {}

  void start(std::optional<std::string_view> key, std::shared_ptr<group_task> work, run_settings how) override {
    // What is dropped is destroyed without the mutex: it is the user's.
    dropped left;
    {
      const std::lock_guard lock(mutex_);
      if (over_) return left.push_back(std::move(work));
      records_.emplace(core_.started(), record{std::move(work), std::move(how), nullptr, std::nullopt});
      act(core_.add(key), left);
    }
    set_->notify();
  }

  std::optional<group_outcome> poll(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    // What there was, `wait` has handed out.
    if (over_) return std::nullopt;
    const auto answer = core_.take(key);
    if (!answer) return std::nullopt;
    const auto found = records_.find(answer->number);
    auto outcome = outcome_of(answer->number, answer->how);
    if (!answer->leaving) records_.erase(found);
    return outcome;
  }

  bool pending(std::string_view key) const override {
    const std::lock_guard lock(mutex_);
    return core_.pending(key);
  }

  void cancel() noexcept override {
    dropped left;
    {
      const std::lock_guard lock(mutex_);
      act(core_.cancel(), left);
    }
    set_->notify();
  }

  void drop() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      dropped_ = true;
    }
    cancel();
  }

  asio::awaitable<group_end> wait() override {
    const auto self = shared_from_this();
    group_end end;
    if (!begin_to_wait()) {
      end.verdict = unexpected<error>(error(errc::invalid_argument, "the group was waited for already"));
      co_return end;
    }
    // A caller that is cancelled has to wait for its tasks to stop: to throw would leave them behind.
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    for (auto until = next_limit(); until; until = next_limit()) {
      const task_set::change why = co_await set_->changed(*until);
      if (!go_on(why)) break;
    }
    finish(end);
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return end;
  }

 private:
  struct record {
    std::shared_ptr<group_task> task;
    run_settings how;
    /// Its run, and its number in the set, once it has begun.
    std::shared_ptr<run_state> own;
    std::optional<std::size_t> number;
  };
  using dropped = std::vector<std::shared_ptr<group_task>>;

  /// The frame of a task: however it goes, the group is told.
  class presence {
   public:
    presence(group_in_run& in, std::size_t number) noexcept : in_(in), number_(number) {}
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence() {
      if (!left_) in_.lost(number_);
    }
    void leave() {
      left_ = true;
      in_.gone(number_);
    }

   private:
    group_in_run& in_;
    std::size_t number_;
    bool left_ = false;
  };

  static asio::awaitable<void> run(std::shared_ptr<group_in_run> self, std::size_t number,
                                   std::shared_ptr<group_task> task, std::shared_ptr<run_state> own) {
    presence here(*self, number);
    run_scope scope = run_state::scope_of(std::move(own));
    bool well = false;
    std::exception_ptr thrown;
    try {
      auto working = task->run(scope);
      well = co_await std::move(working);
    } catch (...) {
      thrown = std::current_exception();
    }
    // What it has started is waited for, even when it was cancelled.
    co_await asio::this_coro::throw_if_cancelled(false);
    if (thrown) task->fail(error_of(std::exchange(thrown, nullptr)));
    task->release();
    self->finished(number, well, *task);
    co_await scope.leave();
    here.leave();
  }

  bool begin_to_wait() {
    dropped left;
    const std::lock_guard lock(mutex_);
    if (std::exchange(waited_for_, true)) return false;
    act(core_.wait(), left);
    return true;
  }

  /// Until when to wait for a change; nothing when there is nothing left to wait for.
  std::optional<instant> next_limit() {
    dropped left;
    const std::lock_guard lock(mutex_);
    if (in_->cancelled()) act(core_.cancel(), left);
    if (core_.settled()) return std::nullopt;
    return core_.decided() == group_core::verdict::open ? in_->working_deadline() : after(decided_at_, how_.grace);
  }

  bool go_on(task_set::change why) {
    dropped left;
    const std::lock_guard lock(mutex_);
    if (why == task_set::change::cancelled) act(core_.cancel(), left);
    if (why != task_set::change::late) return true;
    if (core_.decided() != group_core::verdict::open) return in_->gate().now() < after(decided_at_, how_.grace);
    act(core_.expire(), left);
    return true;
  }

  void finish(group_end& end) {
    std::unordered_map<std::size_t, record> records;
    std::vector<std::shared_ptr<run_state>> abandoned;
    {
      const std::lock_guard lock(mutex_);
      for (const std::size_t number : core_.abandon()) abandoned.push_back(records_.at(number).own);
      for (const std::size_t number : core_.outcomes()) {
        end.outcomes.push_back(outcome_of(number, *core_.ending(number)));
      }
      end.counts = core_.counts();
      if (auto why = unmet()) end.verdict = unexpected<error>(*std::move(why));
      over_ = true;
      records.swap(records_);
    }
    // What they give is dropped: they shall not pay for it.
    for (const auto& each : abandoned) each->close();
  }

  [[nodiscard]] group_outcome outcome_of(std::size_t number, task_ending how) const {
    const record& from = records_.at(number);
    if (how != task_ending::cancelled) return group_outcome(from.task);
    std::string said = "run " + in_->path() + "/" + from.how.name + ": cancelled, since " + reason();
    if (core_.given_up(number)) {
      said += how_.wait_for == group_wait::verdict ? "; it had not stopped yet" : "; it did not stop within the grace";
    }
    return group_outcome(error(errc::cancelled, std::move(said)));
  }

  [[nodiscard]] std::string reason() const {
    switch (core_.decided()) {
      case group_core::verdict::met: return "the group had its quorum of " + std::to_string(how_.quorum);
      case group_core::verdict::failed: return "another task of its group had failed";
      case group_core::verdict::out_of_reach:
        return "its group's quorum of " + std::to_string(how_.quorum) + " was out of reach";
      case group_core::verdict::late: return "the run's working deadline had come";
      case group_core::verdict::open:
      case group_core::verdict::cancelled: break;
    }
    return "its group was cancelled";
  }

  [[nodiscard]] std::string first_failure() const {
    return first_failure_ ? "; the first failure: " + first_failure_->message() : std::string();
  }

  /// Why the rule is not met.
  [[nodiscard]] std::optional<error> unmet() const {
    const group_counts& all = core_.counts();
    const std::string run = "run " + in_->path() + ": ";
    switch (core_.decided()) {
      case group_core::verdict::open:
      case group_core::verdict::met: return std::nullopt;
      case group_core::verdict::failed: return first_failure_;
      case group_core::verdict::out_of_reach: {
        const std::string said = run + std::to_string(all.succeeded) + " of " + std::to_string(core_.started()) +
                                 " tasks succeeded, " + std::to_string(how_.quorum) + " were needed" + first_failure();
        const bool too_few = core_.started() < how_.quorum;
        return error(first_failure_ ? first_failure_->code() : errc::invalid_argument,
                     too_few ? said + "; start more tasks, or lower quorum" : said);
      }
      case group_core::verdict::late:
        return error(errc::deadline_exceeded,
                     run + "its working deadline came when " + std::to_string(all.succeeded + all.failed) + " of " +
                         std::to_string(core_.started()) + " tasks had ended" + first_failure());
      case group_core::verdict::cancelled: break;
    }
    return error(errc::cancelled, run + "the group was cancelled");
  }

  void finished(std::size_t number, bool well, const group_task& task) {
    dropped left;
    {
      const std::lock_guard lock(mutex_);
      const auto found = records_.find(number);
      if (found == records_.end()) return;
      const error* const why = well ? nullptr : task.failure();
      if (why != nullptr && in_->cancelled() && why->is(errc::cancelled)) act(core_.cancel(), left);
      auto then = core_.finished(number, well ? task_ending::succeeded : task_ending::failed);
      if (why != nullptr && core_.ending(number) == task_ending::failed && !first_failure_) first_failure_ = *why;
      act(std::move(then), left);
    }
    set_->notify();
  }

  void gone(std::size_t number) {
    dropped left;
    {
      const std::lock_guard lock(mutex_);
      // Only now: while it leaves, one that has not begun is about to have its place.
      if (const auto found = records_.find(number); found != records_.end())
        awaited_.remove(found->second.own->waits());
      act(core_.gone(number), left);
    }
    set_->notify();
  }

  /// Its context was destroyed, and with it its frame: nothing can begin or be told any more.
  void lost(std::size_t number) noexcept {
    const std::lock_guard lock(mutex_);
    static_cast<void>(core_.cancel());
    static_cast<void>(core_.gone(number));
  }

  void act(group_core::steps then, dropped& left) {
    const bool was_decided = decided_;
    // A list, not a recursion: each of many tasks that cannot begin makes room for the next.
    std::deque<group_core::steps> all;
    for (all.push_back(std::move(then)); !all.empty(); all.pop_front()) {
      for (const std::size_t number : all.front().cancel) {
        record& of = records_.at(number);
        if (!of.number) continue;
        awaited_.remove(of.own->waits());
        set_->cancel(*of.number);
      }
      for (const std::size_t number : all.front().drop) {
        left.push_back(std::move(records_.at(number).task));
        records_.erase(number);
      }
      for (const std::size_t number : all.front().begin) begin(number, all);
      if (!decided_ && core_.decided() != group_core::verdict::open) {
        decided_ = true;
        // A group that is destroyed late may have no clock any more, and nobody waits for it.
        if (!dropped_) decided_at_ = in_->gate().now();
      }
    }
    if (!waited_for_) return;
    if (!decided_) {
      awaited_.wait_for(core_.needed(), core_.queued());
    } else if (!was_decided) {
      awaited_.end();
    }
  }

  void begin(std::size_t number, std::deque<group_core::steps>& then) {
    record& of = records_.at(number);
    auto opened = in_->open_child(of.how, false);
    if (opened) {
      of.own = *std::move(opened);
      awaited_.add(of.own->waits());
      of.number = set_->started();
      if (set_->start(run(shared_from_this(), number, of.task, of.own))) return;
      of.number.reset();
      of.own->close();
      awaited_.remove(of.own->waits());
    }
    if (in_->cancelled()) {
      then.push_back(core_.cancel());
    } else {
      of.task->fail(opened.error());
      if (!first_failure_) first_failure_ = opened.error();
    }
    then.push_back(core_.finished(number, task_ending::failed));
    then.push_back(core_.gone(number));
  }

  std::shared_ptr<run_state> in_;
  group_options how_;
  mutable std::mutex mutex_;
  group_core core_;
  std::shared_ptr<task_set> set_;
  wait_graph::batch awaited_;
  std::unordered_map<std::size_t, record> records_;
  std::optional<error> first_failure_;
  instant decided_at_ = never;
  bool decided_ = false;
  bool waited_for_ = false;
  bool over_ = false;
  /// Its owner is gone.
  bool dropped_ = false;
};

}  // namespace

std::shared_ptr<group_tasks> group_tasks::make(const run_scope& in, const group_options& how) {
  return std::make_shared<group_in_run>(in, how);
}

}  // namespace sluice::agent::detail
