#include <sluice/agent/detail/task_set.hpp>

#include "agent/runs/run_state.hpp"
#include "runtime/context_hook.hpp"
#include "runtime/waiting_call.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/dispatch.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>

#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice::agent::detail {

namespace {

/// The mutex is taken before none other. Waking and counting out happen without it.
class strand_tasks final : public task_set, public run_member, public sluice::detail::waiting_call {
 public:
  explicit strand_tasks(std::shared_ptr<run_state> in)
      : waiting_call(in->gate().time()), in_(std::move(in)), strand_(asio::make_strand(in_->executor())) {
    context_.attach(in_->executor());
  }
  ~strand_tasks() override {
    context_.detach();
    in_->remove(*this);
  }

  bool start(asio::awaitable<void> work, begin when) override {
    if (!in_->begin_task()) return false;
    std::unique_lock lock(mutex_);
    if (!strand_) {
      lock.unlock();
      in_->end_task();
      return false;
    }
    const std::size_t number = started_++;
    task& made = tasks_[number];
    const auto here = *strand_;
    auto self = std::static_pointer_cast<strand_tasks>(shared_from_this());
    auto spawn = [self = std::move(self), number, &made, here, work = std::move(work)]() mutable {
      asio::co_spawn(
          here, std::move(work),
          asio::bind_cancellation_slot(made.signal.slot(), [self, number](std::exception_ptr) { self->end(number); }));
      // It may have ended, and be gone.
      self->begun(number);
    };
    if (when == begin::later) {
      asio::post(here, std::move(spawn));
    } else {
      lock.unlock();
      asio::dispatch(here, std::move(spawn));
    }
    return true;
  }

  std::size_t started() const noexcept override {
    const std::lock_guard lock(mutex_);
    return started_;
  }
  std::size_t running() const noexcept override {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }
  bool ended(std::size_t number) const noexcept override {
    const std::lock_guard lock(mutex_);
    return number < started_ && !tasks_.contains(number);
  }

  void cancel(std::size_t number) noexcept override {
    const std::lock_guard lock(mutex_);
    if (tasks_.contains(number)) emit(number);
  }
  void cancel_all() noexcept override {
    const std::lock_guard lock(mutex_);
    for (const auto& each : tasks_) emit(each.first);
  }

  asio::awaitable<change> changed(instant until, bool or_idle) override {
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    change why = change::progress;
    for (;;) {
      prepare();
      const asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
      if (own.cancelled() != asio::cancellation_type::none && !std::exchange(told_, true)) {
        why = change::cancelled;
        break;
      }
      if (has_changed(or_idle)) break;
      if (co_await wait(until) == ending::late) {
        why = change::late;
        break;
      }
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return why;
  }

  void notify() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      changed_ = true;
    }
    wake();
  }

 private:
  void run_cancelled() noexcept override {
    const std::lock_guard lock(mutex_);
    if (!strand_) return;
    // Its destructor may be waiting for the run already. On the strand, since this may be the last pointer to it, and
    // the destructor takes the run's mutex.
    auto self = std::static_pointer_cast<strand_tasks>(weak_from_this().lock());
    if (!self) return;
    asio::post(*strand_, [self = std::move(self)] {
      self->cancel_all();
      self->notify();
    });
  }

  bool leave(waiting_call::ending) noexcept override { return true; }

  [[nodiscard]] bool has_changed(bool or_idle) noexcept {
    const std::lock_guard lock(mutex_);
    return std::exchange(changed_, false) || (or_idle && tasks_.empty());
  }

  // Always through the strand, even from it: the work may be in the middle of starting what is to be cancelled.
  void emit(std::size_t number) {
    if (!strand_) return;
    asio::post(*strand_, [self = std::static_pointer_cast<strand_tasks>(shared_from_this()), number] {
      self->cancel_here(number, false);
    });
  }

  /// On the strand, where tasks begin and are taken out.
  void cancel_here(std::size_t number, bool begins) {
    asio::cancellation_signal* signal = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto found = tasks_.find(number);
      if (found == tasks_.end()) return;
      task& which = found->second;
      which.has_begun = which.has_begun || begins;
      // One that was cancelled before it began is cancelled when it has.
      which.is_cancelled = which.is_cancelled || !begins;
      if (which.has_begun && which.is_cancelled) signal = &which.signal;
    }
    if (signal != nullptr) signal->emit(asio::cancellation_type::terminal);
  }
  void begun(std::size_t number) { cancel_here(number, true); }

  void end(std::size_t number) noexcept {
    {
      const std::lock_guard lock(mutex_);
      tasks_.erase(number);
      changed_ = true;
    }
    wake();
    in_->end_task();
  }

  struct task {
    asio::cancellation_signal signal;
    bool has_begun = false;
    bool is_cancelled = false;
  };

  /// A strand must not outlive its context.
  class strand_guard final : public context_hook {
   public:
    explicit strand_guard(strand_tasks& of) noexcept : of_(of) {}

   private:
    void context_gone() noexcept override {
      std::optional<asio::strand<asio::any_io_executor>> last;
      const std::lock_guard lock(of_.mutex_);
      last.swap(of_.strand_);
    }
    strand_tasks& of_;
  };

  std::shared_ptr<run_state> in_;
  /// Nothing when its context is gone, and all tasks with it.
  std::optional<asio::strand<asio::any_io_executor>> strand_;
  strand_guard context_{*this};
  mutable std::mutex mutex_;
  /// Those that have not ended.
  std::map<std::size_t, task> tasks_;
  std::size_t started_ = 0;
  bool changed_ = false;
  /// Whether its waiter has been told of its own cancellation.
  bool told_ = false;
};

}  // namespace

std::shared_ptr<task_set> task_set::make(const run_scope& in) {
  const auto& run = run_state::of(in);
  auto made = std::make_shared<strand_tasks>(run);
  // Once a pointer owns it: the run may be cancelled this moment. One that was takes no tasks.
  static_cast<void>(run->add(*made));
  return made;
}

}  // namespace sluice::agent::detail
