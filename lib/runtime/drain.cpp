#include "runtime/gate.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/co_spawn.hpp>
#include <asio/execution/context.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace sluice {
namespace {

using strand = detail::stop_source::strand;

/// Something to wait for: idleness or the end of the limit, whichever comes first. What is waited with is on its
/// strand.
class idle_or_late final : public detail::idle_observer,
                           public time_source::entry,
                           public std::enable_shared_from_this<idle_or_late> {
 public:
  idle_or_late(strand where, time_source& time) : strand_(std::move(where)), timer_(strand_), time_(&time) {
    timer_.expires_at(never);
  }

  void became_idle() noexcept override {
    leave_time();
    wake();
  }
  void due(instant) noexcept override { wake(); }

  void leave_time() noexcept {
    const std::lock_guard lock(time_mutex_);
    if (time_ != nullptr) std::exchange(time_, nullptr)->disarm(*this);
  }

  void limit(duration length) {
    const std::lock_guard lock(time_mutex_);
    if (time_ != nullptr) time_->arm(*this, after(time_->now(), length));
  }

  asio::awaitable<void> wait() {
    asio::error_code ignored;
    if (!woken_) co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  [[nodiscard]] asio::execution_context& context() const noexcept override {
    return asio::query(strand_, asio::execution::context);
  }

 private:
  void wake() {
    asio::post(strand_, [self = shared_from_this()] {
      self->woken_ = true;
      self->timer_.cancel();
    });
  }

  strand strand_;
  asio::steady_timer timer_;
  bool woken_ = false;
  std::mutex time_mutex_;
  time_source* time_;
};

}  // namespace

asio::awaitable<drain_result> bulkhead::drain(duration limit) {
  if (limit <= duration::zero()) co_return gate_->observe_idle(nullptr);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto stop = std::make_shared<detail::stop_source>(executor);
  const auto event = std::make_shared<idle_or_late>(stop->get_executor(), gate_->time());
  drain_result now = gate_->observe_idle(event);
  if (now.drained) co_return now;
  // From here on the bulkhead may go away, but not the gate.
  struct registration {
    detail::gate& gate;
    idle_or_late& event;
    ~registration() {
      event.leave_time();
      gate.forget(event);
    }
  } const registered{*gate_, *event};
  event->limit(limit);
  auto waiting = event->wait();
  asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
  stop->obey(own.slot());
  const strand where = stop->get_executor();
  auto token = asio::bind_cancellation_slot(stop->slot(), asio::use_awaitable);
  co_await asio::co_spawn(where, std::move(waiting), token);
  co_return registered.gate.observe_idle(nullptr);
}

}  // namespace sluice
