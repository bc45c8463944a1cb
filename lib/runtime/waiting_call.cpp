#include "runtime/waiting_call.hpp"

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/this_coro.hpp>

#include <utility>

namespace sluice::detail {

waiting_call::~waiting_call() {
  detach();
  disarm();
}

void waiting_call::prepare() noexcept {
  const std::lock_guard lock(mutex_);
  woken_ = false;
  ending_ = ending::woken;
}

asio::awaitable<waiting_call::ending> waiting_call::wait(instant until) {
  asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
  const auto begin = [this, until](resumption self) { suspend(std::move(self), until); };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(begin, asio::use_awaitable);
  if (auto slot = own.slot(); slot.is_connected()) slot.clear();
  disarm();
  const std::lock_guard lock(mutex_);
  co_return ending_;
}

void waiting_call::suspend(resumption self, instant until) {
  const asio::any_io_executor own = asio::get_associated_executor(self);
  if (auto slot = asio::get_associated_cancellation_slot(self); slot.is_connected()) {
    slot.assign([weak = weak_from_this()](asio::cancellation_type kind) {
      if (kind == asio::cancellation_type::none) return;
      if (const auto alive = weak.lock()) alive->interrupt(ending::cancelled);
    });
  }
  attach(own);
  std::unique_lock lock(mutex_);
  if (std::exchange(woken_, false)) {
    lock.unlock();
    detach();
    asio::post(own, std::move(self));
    return;
  }
  waiter_.emplace(std::move(self));
  work_ = asio::prefer(own, asio::execution::outstanding_work.tracked);
  // Under the mutex: the coroutine could otherwise have gone on by the time its alarm is set.
  if (until != never && clock_ != nullptr) {
    armed_ = true;
    clock_->arm(*this, until);
  }
}

void waiting_call::wake() noexcept {
  std::optional<resumption> self;
  asio::any_io_executor work;
  {
    const std::lock_guard lock(mutex_);
    if (!waiter_) {
      woken_ = true;
      return;
    }
    self.emplace(std::move(*waiter_));
    waiter_.reset();
    work = std::exchange(work_, {});
  }
  // Whoever wakes it keeps it alive: its coroutine may be gone with the next line.
  const auto alive = shared_from_this();
  detach();
  const auto own = asio::get_associated_executor(*self);
  asio::post(own, std::move(*self));
}

void waiting_call::interrupt(ending why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!waiter_ || ending_ != ending::woken) return;
    ending_ = why;
  }
  if (leave(why)) wake();
}

void waiting_call::disarm() noexcept {
  time_source* armed_in = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(armed_, false)) armed_in = clock_;
  }
  // Without the mutex, which a `due` that has to be waited for takes.
  if (armed_in != nullptr) armed_in->disarm(*this);
}

void waiting_call::due(instant) noexcept {
  // Its owner may be letting go of it, and then waits in `disarm`.
  if (const auto alive = weak_from_this().lock()) alive->interrupt(ending::late);
}

void waiting_call::dropped() noexcept {
  const std::lock_guard lock(mutex_);
  clock_ = nullptr;
}

void waiting_call::context_gone() noexcept {
  std::optional<resumption> left;
  asio::any_io_executor work;
  const std::lock_guard lock(mutex_);
  if (waiter_) left.emplace(std::move(*waiter_));
  waiter_.reset();
  work = std::exchange(work_, {});
}

}  // namespace sluice::detail
