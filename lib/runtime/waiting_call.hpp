/// \file
/// `waiting_call`: a coroutine's place to wait for what others do, on whatever thread.
#pragma once

#include "runtime/context_hook.hpp"

#include <sluice/core/time.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/use_awaitable.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace sluice::detail {

/// Owned by a shared pointer. One coroutine waits at a time, and is resumed on its own executor, never within a call
/// into this. No lock of this is held while `leave` runs.
class waiting_call : public time_source::entry, public context_hook, public std::enable_shared_from_this<waiting_call> {
 public:
  /// Why a wait ended.
  enum class ending : std::uint8_t {
    /// Somebody called `wake`.
    woken,
    /// Its instant has come.
    late,
    /// Its caller was cancelled.
    cancelled,
  };

  explicit waiting_call(time_source& time) noexcept : clock_(&time) {}
  ~waiting_call() override;

  /// Before it becomes known to those who might wake it: forgets the last wait, and wakes that came after it.
  void prepare() noexcept;
  /// Suspends until `wake` (also one since `prepare`), `until`, or a cancellation of any type, if `leave` lets it go.
  [[nodiscard]] asio::awaitable<ending> wait(instant until);
  /// From any thread. Harmless when nobody waits.
  void wake() noexcept;

 protected:
  /// The caller wants to go, because of `why`: true lets it go at once; after false it is resumed by `wake`, and the
  /// wait then ends for that reason. On the thread that cancels or runs the clock.
  [[nodiscard]] virtual bool leave(ending why) noexcept = 0;

 private:
  using resumption = asio::async_result<asio::use_awaitable_t<>, void()>::handler_type;

  void suspend(resumption self, instant until);
  void interrupt(ending why) noexcept;
  void arm(instant until);
  void disarm() noexcept;

  void due(instant now) noexcept override;
  void dropped() noexcept override;
  void context_gone() noexcept override;

  std::mutex mutex_;
  std::optional<resumption> waiter_;
  asio::any_io_executor work_;
  ending ending_ = ending::woken;
  bool woken_ = false;
  bool armed_ = false;
  /// Null when the clock has gone.
  time_source* clock_;
};

}  // namespace sluice::detail
