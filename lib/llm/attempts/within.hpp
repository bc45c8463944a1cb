/// \file
/// `within`: work that is given up after a while.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/runtime/sleep.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <memory>
#include <utility>

namespace sluice::llm::detail {

/// Work and a clock on one strand, each of which ends the other. A signal is emitted only while what it stops is there.
class patience : public std::enable_shared_from_this<patience> {
 public:
  explicit patience(const asio::any_io_executor& executor) : strand_(asio::make_strand(executor)) {}

  void obey(asio::cancellation_slot callers) {
    if (!callers.is_connected()) return;
    // Weakly: the slot keeps what it was given.
    callers.assign([weak = weak_from_this()](asio::cancellation_type) {
      const auto self = weak.lock();
      if (self) asio::post(self->strand_, [self] { self->stop_work(); });
    });
  }

  template <typename T>
  static asio::awaitable<T> run(std::shared_ptr<patience> self, asio::awaitable<T> work) {
    const struct on_exit {
      patience& of;
      ~on_exit() { of.work_ended(); }
    } leaving{*self};
    co_return co_await std::move(work);
  }
  static asio::awaitable<void> lose(std::shared_ptr<patience> self, time_source& time, instant when) {
    // Also when its context drops it: the sleep that the signal would stop is gone then.
    const struct on_exit {
      patience& of;
      ~on_exit() { of.clock_ended_ = true; }
    } leaving{*self};
    if (!self->work_ended_) co_await sleep_until(time, when);
    self->clock_ended_ = true;
    self->stop_work();
  }

  [[nodiscard]] const asio::strand<asio::any_io_executor>& executor() const noexcept { return strand_; }
  [[nodiscard]] asio::cancellation_slot work_slot() noexcept { return work_.slot(); }
  [[nodiscard]] asio::cancellation_slot clock_slot() noexcept { return clock_.slot(); }

 private:
  void stop_work() {
    if (!work_ended_) work_.emit(asio::cancellation_type::terminal);
  }
  void work_ended() {
    work_ended_ = true;
    if (!clock_ended_) clock_.emit(asio::cancellation_type::terminal);
  }

  asio::strand<asio::any_io_executor> strand_;
  asio::cancellation_signal work_;
  asio::cancellation_signal clock_;
  bool work_ended_ = false;
  bool clock_ended_ = false;
};

/// Runs `work`, and cancels it (terminal) at `when`; what it makes of that is the result. For what is rare: it
/// allocates. Cancellation: terminal; as that of `work`.
template <typename T>
asio::awaitable<T> within(time_source& time, instant when, asio::awaitable<T> work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto both = std::make_shared<patience>(executor);
  asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
  both->obey(own.slot());
  asio::co_spawn(both->executor(), patience::lose(both, time, when),
                 asio::bind_cancellation_slot(both->clock_slot(), asio::detached));
  auto running = patience::run(both, std::move(work));
  auto token = asio::bind_cancellation_slot(both->work_slot(), asio::use_awaitable);
  co_return co_await asio::co_spawn(both->executor(), std::move(running), token);
}

}  // namespace sluice::llm::detail
