#include <sluice/runtime/sleep.hpp>

#include "runtime/context_hook.hpp"

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <mutex>
#include <optional>
#include <utility>

namespace sluice {
namespace {

using resumption = asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;

/// In the frame of the coroutine that sleeps. The mutex is held for as long as anybody else works on it, so that a
/// coroutine that has been resumed meanwhile does not leave before.
class sleeper final : public time_source::entry, public context_hook {
 public:
  explicit sleeper(time_source& time) noexcept : time_(&time) {}
  ~sleeper() override {
    detach();
    time_source* armed_in = nullptr;
    {
      const std::lock_guard lock(mutex_);
      armed_in = std::exchange(time_, nullptr);
    }
    // Without the mutex, which a `due` that has to be waited for takes.
    if (armed_in != nullptr) armed_in->disarm(*this);
  }

  void start(resumption self, instant when) {
    attach(asio::get_associated_executor(self));
    const std::lock_guard lock(mutex_);
    if (auto slot = asio::get_associated_cancellation_slot(self); slot.is_connected()) {
      slot.assign([this](asio::cancellation_type kind) {
        if (kind != asio::cancellation_type::none) cancel();
      });
    }
    sleeping_.emplace(std::move(self));
    time_->arm(*this, when);
  }

 private:
  void due(instant) noexcept override {
    const std::lock_guard lock(mutex_);
    time_ = nullptr;
    wake();
  }

  void dropped() noexcept override {
    const std::lock_guard lock(mutex_);
    time_ = nullptr;
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    wake();
  }

  void context_gone() noexcept override {
    std::optional<resumption> left;
    const std::lock_guard lock(mutex_);
    if (sleeping_) left.emplace(std::move(*sleeping_));
    sleeping_.reset();
  }

  void wake() {
    if (!sleeping_) return;
    resumption self(std::move(*sleeping_));
    sleeping_.reset();
    const auto executor = asio::get_associated_executor(self);
    asio::post(executor, std::move(self));
  }

  std::mutex mutex_;
  /// Null when it is armed nowhere any more.
  time_source* time_;
  std::optional<resumption> sleeping_;
};

}  // namespace

asio::awaitable<void> sleep_until(time_source& time, instant when) {
  if (when <= time.now()) co_return;
  asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
  sleeper here(time);
  const auto begin = [&here, when](resumption self) { here.start(std::move(self), when); };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(begin, asio::use_awaitable);
  if (auto slot = own.slot(); slot.is_connected()) slot.clear();
}

}  // namespace sluice
