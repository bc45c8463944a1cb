/// \file
/// `permit::guard`: runs work so that the gate can cancel it. Not for users; included by permit.hpp.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/runtime/detail/stoppable.hpp>
#include <sluice/runtime/permit.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/query.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <atomic>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sluice::detail {

/// Cancels work that runs on a strand of its own. The work, its cancellation signal and every emission share the
/// strand, so that a cancellation from any thread meets no race; it must come after the work has been spawned.
class stop_source final : public stoppable, public std::enable_shared_from_this<stop_source> {
 public:
  using strand = asio::strand<asio::any_io_executor>;

  explicit stop_source(const asio::any_io_executor& executor) : strand_(asio::make_strand(executor)) {}

  [[nodiscard]] asio::execution_context* context() const noexcept override {
    return &asio::query(strand_, asio::execution::context);
  }
  void stop(stop_cause why) noexcept override;
  [[nodiscard]] stop_cause stopped() const noexcept override { return cause_.load(std::memory_order_acquire); }
  /// Passes a cancellation of the caller on: from any thread.
  void cancel();
  /// Lets the caller's slot cancel the work.
  void obey(asio::cancellation_slot callers);

  [[nodiscard]] const strand& get_executor() const noexcept { return strand_; }
  [[nodiscard]] asio::cancellation_slot slot() noexcept { return signal_.slot(); }

 private:
  void emit();

  strand strand_;
  asio::cancellation_signal signal_;
  std::atomic<stop_cause> cause_{stop_cause::none};
};

/// Puts work under guard for a scope.
class guarded_scope {
 public:
  guarded_scope(gate& where, core::request_id id, const std::shared_ptr<stop_source>& stop)
      : gate_(where), id_(id), stop_(stop) {
    begin_guard(gate_, id_, stop_);
  }
  guarded_scope(const guarded_scope&) = delete;
  guarded_scope& operator=(const guarded_scope&) = delete;
  ~guarded_scope() { end_guard(gate_, id_, *stop_); }

 private:
  gate& gate_;
  core::request_id id_;
  const std::shared_ptr<stop_source>& stop_;
};

/// The work, under guard from its first step on the strand to its last: a preemption that came before could not reach
/// it.
template <typename T>
asio::awaitable<T> guarded_work(gate& where, core::request_id id, std::shared_ptr<stop_source> stop,
                                asio::awaitable<T> work) {
  const guarded_scope scope(where, id, stop);
  co_return co_await std::move(work);
}

/// Whether a result of guarded work says itself that the work was cancelled.
template <typename T>
[[nodiscard]] bool says_cancelled(const T&) noexcept {
  return false;
}
template <typename T>
[[nodiscard]] bool says_cancelled(const expected<T, error>& result) noexcept {
  return !result && result.error().is(errc::cancelled);
}

/// Precondition: `why` is a cause.
[[nodiscard]] error stopped_error(stop_cause why);
[[nodiscard]] error empty_permit_error(const char* what);

}  // namespace sluice::detail

namespace sluice {

template <typename T>
asio::awaitable<expected<T, error>> permit::guard(asio::awaitable<T> work) {
  using result_type = expected<T, error>;
  if (gate_ == nullptr) co_return result_type(unexpected<error>(detail::empty_permit_error("guard")));
  if (!detail::could_be_stopped(*gate_, id_)) {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(work);
      co_return result_type();
    } else {
      co_return result_type(co_await std::move(work));
    }
  }

  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto stop = std::make_shared<detail::stop_source>(executor);
  asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
  stop->obey(own.slot());
  const auto strand = stop->get_executor();
  auto token = asio::bind_cancellation_slot(stop->slot(), asio::use_awaitable);
  auto guarded = detail::guarded_work(*gate_, id_, stop, std::move(work));
  try {
    if constexpr (std::is_void_v<T>) {
      co_await asio::co_spawn(strand, std::move(guarded), token);
      co_return result_type();
    } else {
      auto result = co_await asio::co_spawn(strand, std::move(guarded), token);
      if (stop->stopped() == stop_cause::none || !detail::says_cancelled(result))
        co_return result_type(std::move(result));
    }
  } catch (const std::system_error& failure) {
    if (stop->stopped() == stop_cause::none || failure.code() != asio::error::operation_aborted) throw;
  }
  const stop_cause why = stop->stopped();
  if (why == stop_cause::preempted) preempted_ = true;
  co_return result_type(unexpected<error>(detail::stopped_error(why)));
}

}  // namespace sluice
