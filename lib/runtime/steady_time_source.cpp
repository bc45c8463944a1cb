#include "core/dary_heap.hpp"
#include "runtime/context_hook.hpp"

#include <sluice/runtime/time_source.hpp>

#include <asio/steady_timer.hpp>

#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace sluice {
namespace {

/// A wake costs more than most of what it is for, so those of one tick share one. Late by less than a tick, never
/// early.
constexpr duration tick = std::chrono::milliseconds(1);

instant rounded_up(instant when) noexcept {
  const duration since = when.time_since_epoch();
  const duration beyond = since % tick;
  return beyond <= duration::zero() ? when : after(when, tick - beyond);
}

instant steady_now() noexcept { return std::chrono::time_point_cast<duration>(std::chrono::steady_clock::now()); }

// Shared with the pending wait, which may outlive the time source.
class timer_queue final : public context_hook, public std::enable_shared_from_this<timer_queue> {
 public:
  using place_of = std::size_t& (*)(time_source::entry&) noexcept;

  timer_queue(const asio::any_io_executor& executor, place_of place) : place_(place), heap_(order{place}) {
    timer_.emplace(executor);
    attach(executor);
  }

  void arm(time_source::entry& who, instant when) {
    const std::lock_guard lock(mutex_);
    std::size_t& place = place_(who);
    if (when == never) {
      take_out(who);
    } else if (place != 0) {
      heap_.update(place - 1, {when, &who});
    } else {
      heap_.push({when, &who});
    }
    if (!waking_) rearm();
  }

  void disarm(time_source::entry& who) noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      take_out(who);
      if (running_ != &who || running_thread_ == std::this_thread::get_id()) break;
      // `due` may arm its entry again while it is waited for.
      ++watchers_;
      finished_.wait(lock, [&] { return running_ != &who; });
      --watchers_;
    }
    // A wait that nobody needs would keep the context's run() from returning.
    if (heap_.empty() && !waking_) stop_waiting();
  }

  void close() noexcept {
    detach();
    context_gone();
  }

  void context_gone() noexcept override {
    std::unique_lock lock(mutex_);
    timer_.reset();
    waiting_for_ = never;
    ++generation_;
    while (!heap_.empty()) {
      time_source::entry& who = *heap_.front().who;
      take_out(who);
      call(lock, who, [&who] { who.dropped(); });
    }
  }

 private:
  struct item {
    instant when;
    time_source::entry* who;
  };
  struct order {
    place_of place;
    [[nodiscard]] bool before(const item& a, const item& b) const noexcept { return a.when < b.when; }
    void moved(const item& what, std::size_t where) const noexcept { place(*what.who) = where + 1; }
  };

  void take_out(time_source::entry& who) noexcept {
    std::size_t& place = place_(who);
    if (place == 0) return;
    heap_.erase(std::exchange(place, 0) - 1);
  }

  void stop_waiting() noexcept {
    if (waiting_for_ == never || !timer_) return;
    waiting_for_ = never;
    ++generation_;
    timer_->cancel();
  }

  void rearm() {
    if (heap_.empty()) return stop_waiting();
    // A wait that ends too early is cheaper than moving it for every entry that comes and goes.
    const instant when = rounded_up(heap_.front().when);
    if (!timer_ || when >= waiting_for_) return;
    timer_->expires_at(when);
    timer_->async_wait(
        [self = shared_from_this(), generation = ++generation_](const asio::error_code&) { self->wake(generation); });
    waiting_for_ = when;
  }

  void wake(std::uint64_t generation) {
    std::unique_lock lock(mutex_);
    if (generation != generation_) return;
    waiting_for_ = never;
    waking_ = true;
    // At most as many as there are now: one that arms itself again in the past must not hold the loop.
    std::size_t turns = heap_.size();
    const instant now = steady_now();
    for (; turns > 0 && !heap_.empty() && heap_.front().when <= now; --turns) {
      time_source::entry& who = *heap_.front().who;
      take_out(who);
      call(lock, who, [&who, now] { who.due(now); });
    }
    waking_ = false;
    rearm();
  }

  // Without the lock, but so that `disarm` waits for it.
  template <typename Call>
  void call(std::unique_lock<std::mutex>& lock, time_source::entry& who, const Call& what) {
    time_source::entry* const before = std::exchange(running_, &who);
    const std::thread::id thread = std::exchange(running_thread_, std::this_thread::get_id());
    lock.unlock();
    what();
    lock.lock();
    running_ = before;
    running_thread_ = thread;
    if (watchers_ > 0) finished_.notify_all();
  }

  const place_of place_;
  std::mutex mutex_;
  std::condition_variable finished_;
  core::dary_heap<item, order> heap_;
  std::optional<asio::steady_timer> timer_;
  instant waiting_for_ = never;
  std::uint64_t generation_ = 0;
  time_source::entry* running_ = nullptr;
  std::thread::id running_thread_;
  std::size_t watchers_ = 0;
  bool waking_ = false;
};

class steady_time_source final : public time_source {
 public:
  explicit steady_time_source(const asio::any_io_executor& executor)
      : queue_(std::make_shared<timer_queue>(executor, &steady_time_source::place)) {}
  ~steady_time_source() override { queue_->close(); }

  [[nodiscard]] instant now() const noexcept override { return steady_now(); }

  [[nodiscard]] instant recent() const noexcept override {
    std::timespec at{};
    if (::clock_gettime(CLOCK_MONOTONIC_COARSE, &at) != 0) return steady_now();
    return instant(std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec));
  }

  void arm(entry& who, instant when) override { queue_->arm(who, when); }
  void disarm(entry& who) noexcept override { queue_->disarm(who); }

 private:
  std::shared_ptr<timer_queue> queue_;
};

}  // namespace

std::unique_ptr<time_source> make_steady_time_source(asio::any_io_executor executor) {
  return std::make_unique<steady_time_source>(executor);
}

}  // namespace sluice
