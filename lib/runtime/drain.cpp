#include "runtime/gate.hpp"

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>

#include <memory>
#include <utility>

namespace sluice {
namespace {

using strand = asio::strand<asio::any_io_executor>;

/// Something to wait for: idleness or the end of the limit, whichever comes first. All of its state is on its strand.
class idle_or_late final : public detail::idle_observer,
                           public time_source::entry,
                           public std::enable_shared_from_this<idle_or_late> {
 public:
  explicit idle_or_late(strand where) : strand_(std::move(where)), timer_(strand_) { timer_.expires_at(never); }

  void became_idle() noexcept override { wake(); }
  void due(instant) noexcept override { wake(); }

  asio::awaitable<void> wait() {
    asio::error_code ignored;
    if (!woken_) co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
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
};

asio::awaitable<drain_result> drain_on(strand where, detail::gate& gate, time_source& time, duration limit) {
  const auto event = std::make_shared<idle_or_late>(where);
  drain_result now = gate.observe_idle(event);
  if (now.drained) co_return now;
  struct registration {
    detail::gate& gate;
    time_source& time;
    idle_or_late& event;
    ~registration() {
      time.disarm(event);
      gate.forget(event);
    }
  } const registered{gate, time, *event};
  time.arm(*event, after(time.now(), limit));
  co_await event->wait();
  co_return gate.observe_idle(nullptr);
}

}  // namespace

asio::awaitable<drain_result> bulkhead::drain(duration limit) {
  if (limit <= duration::zero()) co_return gate_->observe_idle(nullptr);
  const strand where = asio::make_strand(co_await asio::this_coro::executor);
  auto waiting = drain_on(where, *gate_, gate_->time(), limit);
  co_return co_await asio::co_spawn(where, std::move(waiting), asio::use_awaitable);
}

}  // namespace sluice
