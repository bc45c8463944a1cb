#include <sluice/agent/detail/task_set.hpp>

#include "agent/runs/run_state.hpp"
#include "runtime/context_hook.hpp"
#include "runtime/waiting_call.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
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

  bool start(asio::awaitable<void> work) override {
    if (!in_->begin_task()) return false;
    std::unique_lock lock(mutex_);
    if (!strand_) {
      lock.unlock();
      in_->end_task();
      return false;
    }
    const std::size_t number = started_++;
    asio::cancellation_signal& signal = signals_[number];
    auto self = std::static_pointer_cast<strand_tasks>(shared_from_this());
    // On the strand, and under the mutex: what cancels it must come after it.
    asio::post(*strand_, [self = std::move(self), number, &signal, here = *strand_, work = std::move(work)]() mutable {
      asio::co_spawn(here, std::move(work),
                     asio::bind_cancellation_slot(
                         signal.slot(), [self = std::move(self), number](std::exception_ptr) { self->end(number); }));
    });
    return true;
  }

  std::size_t started() const noexcept override {
    const std::lock_guard lock(mutex_);
    return started_;
  }
  std::size_t running() const noexcept override {
    const std::lock_guard lock(mutex_);
    return signals_.size();
  }
  bool ended(std::size_t number) const noexcept override {
    const std::lock_guard lock(mutex_);
    return number < started_ && !signals_.contains(number);
  }

  void cancel(std::size_t number) noexcept override {
    const std::lock_guard lock(mutex_);
    if (signals_.contains(number)) emit(number);
  }
  void cancel_all() noexcept override {
    const std::lock_guard lock(mutex_);
    for (const auto& each : signals_) emit(each.first);
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
    return std::exchange(changed_, false) || (or_idle && signals_.empty());
  }

  // Always through the strand, even from it: the work may be in the middle of starting what is to be cancelled.
  void emit(std::size_t number) {
    if (!strand_) return;
    asio::post(*strand_, [self = std::static_pointer_cast<strand_tasks>(shared_from_this()), number] {
      asio::cancellation_signal* signal = nullptr;
      {
        const std::lock_guard lock(self->mutex_);
        if (const auto found = self->signals_.find(number); found != self->signals_.end()) signal = &found->second;
      }
      // It is taken out on this strand alone.
      if (signal != nullptr) signal->emit(asio::cancellation_type::terminal);
    });
  }

  void end(std::size_t number) noexcept {
    {
      const std::lock_guard lock(mutex_);
      signals_.erase(number);
      changed_ = true;
    }
    wake();
    in_->end_task();
  }

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
  /// Of those that have not ended.
  std::map<std::size_t, asio::cancellation_signal> signals_;
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
