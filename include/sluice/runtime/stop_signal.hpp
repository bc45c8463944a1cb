/// \file
/// `stop_signal`: tells work from outside, once, that it has to stop. The cheap way for a gate to end what runs under a
/// permit (`permit::stop_by`), where the work knows how to be stopped: an exchange, through `http::request::stop`.
#pragma once

#include <sluice/runtime/detail/stoppable.hpp>

#include <asio/execution_context.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace sluice {

/// One shot, for one piece of work; owned by `shared_ptr`.
///
/// Thread safety: all members may be called from any thread.
class stop_signal final : public detail::stoppable {
 public:
  /// Whoever acts on it.
  class listener {
   public:
    /// The signal was stopped. Called once for each `attach`, on the thread that stops it, without a lock of the signal
    /// held, so that it may use the signal; the listener is kept alive meanwhile, and may be destroyed by it. A caller
    /// of `stop` has more to do: post what takes time.
    virtual void on_stop() noexcept = 0;

   protected:
    ~listener() = default;
  };

  stop_signal() = default;
  stop_signal(const stop_signal&) = delete;
  stop_signal& operator=(const stop_signal&) = delete;
  ~stop_signal() = default;

  /// Stops, and tells who listens. The first cause holds: what comes later, and `stop_cause::none`, changes nothing and
  /// tells nobody. When a call that changes nothing returns, the one before may still be telling.
  void stop(stop_cause why) noexcept override;
  /// Why it was stopped; `stop_cause::none` as long as it was not. One atomic load.
  [[nodiscard]] stop_cause stopped() const noexcept override { return cause_.load(std::memory_order_acquire); }

  /// Listens until it is told, detached or destroyed. Told at once, within this call, when it was stopped already.
  void attach(std::weak_ptr<listener> who);
  /// Listens no more, once this returns; but a call that is under way on another thread is not waited for. Harmless for
  /// one that does not listen. O(listeners), of which there are one or two.
  void detach(const listener& who) noexcept;

  [[nodiscard]] asio::execution_context* context() const noexcept override { return nullptr; }

 private:
  struct place {
    const listener* who;
    std::weak_ptr<listener> alive;
  };

  std::atomic<stop_cause> cause_{stop_cause::none};
  std::mutex mutex_;
  std::vector<place> listeners_;
};

}  // namespace sluice
