/// \file
/// `race`: two attempts at once, of which the first that succeeds wins.
#pragma once

#include "runtime/waiting_call.hpp"

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice::llm::detail {

/// Owned by a shared pointer. The attempts run on a strand over the caller's executor, on which each of them is
/// cancelled, too: Asio's own groups wait for the wrong thing and are not safe across threads. `run_to` ends when an
/// instant has come, or nothing runs any more: a winner cancels the other attempt and waits until that has stopped, and
/// so does the caller's cancellation.
template <typename T>
class race final : public sluice::detail::waiting_call {
 public:
  using result = expected<T, failure>;

  /// How one attempt ended.
  struct lane {
    std::optional<result> answered;
    std::exception_ptr thrown;
    instant ended = never;
    bool running = false;
    asio::cancellation_signal signal;
  };
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

  race(const asio::any_io_executor& executor, time_source& time)
      : sluice::detail::waiting_call(time), time_(time), strand_(asio::make_strand(executor)) {}

  /// Lets attempt `number` (0 or 1) run, unless it has been decided that none is needed.
  void start(std::size_t number, asio::awaitable<result> work) {
    auto self = std::static_pointer_cast<race>(this->shared_from_this());
    auto running = run(std::move(self), number, std::move(work));
    const std::lock_guard lock(mutex_);
    if (stopped_ || winner_ != nobody) return;
    lane& own = lanes_[number];
    own.running = true;
    ++running_;
    // On the strand, and under the mutex: what cancels it must come after it.
    asio::post(strand_, [strand = strand_, &own, running = std::move(running)]() mutable {
      asio::co_spawn(strand, std::move(running), asio::bind_cancellation_slot(own.signal.slot(), asio::detached));
    });
  }

  /// Waits until `when`, or until nothing runs any more: true.
  [[nodiscard]] asio::awaitable<bool> run_to(instant when) {
    // A caller that is cancelled has to wait for its attempts to stop: to throw would leave them behind.
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    prepare();
    if (!over()) static_cast<void>(co_await wait(when));
    const asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
    if (own.cancelled() != asio::cancellation_type::none) {
      stop();
      // Once cancelled, a coroutine is not interrupted again.
      for (prepare(); !over(); prepare()) static_cast<void>(co_await wait(never));
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return over();
  }

  /// Cancels what runs; nothing that ends from now on wins, unless it has won.
  void stop() noexcept {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    cancel_running();
  }

  // When it is over.

  [[nodiscard]] std::size_t winner() const noexcept { return winner_; }
  [[nodiscard]] lane& at(std::size_t number) noexcept { return lanes_[number]; }

 private:
  static asio::awaitable<void> run(std::shared_ptr<race> self, std::size_t number, asio::awaitable<result> work) {
    try {
      auto answered = co_await std::move(work);
      self->lanes_[number].answered.emplace(std::move(answered));
    } catch (...) {
      self->lanes_[number].thrown = std::current_exception();
    }
    self->ended(number);
  }

  void ended(std::size_t number) noexcept {
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      lane& own = lanes_[number];
      own.running = false;
      own.ended = time_.now();
      last = --running_ == 0;
      if (own.answered && *own.answered && winner_ == nobody && !stopped_) {
        winner_ = number;
        cancel_running();
      }
    }
    if (last) wake();
  }

  // Always through the strand: an attempt may be in the middle of starting what is to be cancelled.
  void cancel_running() {
    for (lane& each : lanes_) {
      if (!each.running) continue;
      asio::post(strand_,
                 [self = this->shared_from_this(), &each] { each.signal.emit(asio::cancellation_type::terminal); });
    }
  }

  [[nodiscard]] bool over() const noexcept {
    const std::lock_guard lock(mutex_);
    return running_ == 0;
  }

  bool leave(ending why) noexcept override {
    const std::lock_guard lock(mutex_);
    if (why == ending::cancelled) {
      stopped_ = true;
      cancel_running();
    }
    // With a winner, too, the other attempt has been told to stop, and is waited for.
    return running_ == 0 || (why == ending::late && winner_ == nobody);
  }

  time_source& time_;
  asio::strand<asio::any_io_executor> strand_;
  mutable std::mutex mutex_;
  std::array<lane, 2> lanes_;
  std::size_t running_ = 0;
  std::size_t winner_ = nobody;
  bool stopped_ = false;
};

/// Stops a race whose caller does not come back to it.
template <typename T>
class race_guard {
 public:
  explicit race_guard(std::shared_ptr<race<T>> of) noexcept : of_(std::move(of)) {}
  race_guard(const race_guard&) = delete;
  race_guard& operator=(const race_guard&) = delete;
  ~race_guard() { of_->stop(); }

 private:
  std::shared_ptr<race<T>> of_;
};

}  // namespace sluice::llm::detail
