#include "llm/attempts/unread_limit.hpp"

#include <algorithm>
#include <utility>

namespace sluice::llm::detail {

/// Listens to the signal of one exchange. It may be told on another thread when the limit is gone, or has another.
class unread_limit::watch final : public stop_signal::listener {
 public:
  explicit watch(unread_limit& of) noexcept : of_(&of) {}

  void on_stop() noexcept override {
    const std::lock_guard lock(mutex_);
    if (of_ == nullptr) return;
    const std::lock_guard of_limit(of_->mutex_);
    if (of_->reading_) return;
    of_->leave_unread(verdict::stopped, of_->time_ != nullptr ? of_->time_->recent() : of_->read_at_);
  }

  /// Waits for a call that is under way.
  void leave() noexcept {
    const std::lock_guard lock(mutex_);
    of_ = nullptr;
  }

 private:
  std::mutex mutex_;
  unread_limit* of_;
};

unread_limit::~unread_limit() {
  obey(nullptr);
  stop();
}

void unread_limit::obey(const std::shared_ptr<stop_signal>& signal) {
  if (watch_ != nullptr) {
    watch_->leave();
    signal_->detach(*watch_);
    watch_.reset();
  }
  signal_ = signal;
  if (signal_ == nullptr) return;
  watch_ = std::make_shared<watch>(*this);
  signal_->attach(watch_);
}

unread_limit::verdict unread_limit::begin_reading() {
  const std::lock_guard lock(mutex_);
  reading_ = true;
  return verdict_ == verdict::stopped ? std::exchange(verdict_, verdict::in_time) : verdict_;
}

void unread_limit::end_reading(time_source& time) {
  if (!is_limited() && signal_ == nullptr) return;
  const instant now = time.recent();
  const std::lock_guard lock(mutex_);
  reading_ = false;
  read_at_ = now;
  // It may have been told while somebody read, and did not come to the exchange again.
  if (signal_ != nullptr && signal_->stopped() != stop_cause::none) return leave_unread(verdict::stopped, now);
  // One that comes too early looks again; that is cheaper than to move it with each event.
  if (time_ != nullptr || !is_limited()) return;
  time_ = &time;
  time.arm(*this, end());
}

instant unread_limit::end() const noexcept {
  return length_ <= duration::zero() ? deadline_ : std::min(after(read_at_, length_), deadline_);
}

void unread_limit::stop() noexcept {
  time_source* armed_in = nullptr;
  {
    const std::lock_guard lock(mutex_);
    reading_ = true;
    armed_in = std::exchange(time_, nullptr);
  }
  if (armed_in != nullptr) armed_in->disarm(*this);
}

void unread_limit::leave_unread(verdict why, instant now) noexcept {
  if (verdict_ != verdict::in_time) return;
  verdict_ = why;
  owner_.left_unread(why, now);
}

void unread_limit::due(instant now) noexcept {
  const std::lock_guard lock(mutex_);
  if (time_ == nullptr) return;
  if (reading_ || verdict_ != verdict::in_time) {
    time_ = nullptr;
    return;
  }
  if (const instant when = end(); when > now) return time_->arm(*this, when);
  time_ = nullptr;
  leave_unread(deadline_ <= now ? verdict::too_late : verdict::unread, now);
}

void unread_limit::dropped() noexcept {
  const std::lock_guard lock(mutex_);
  time_ = nullptr;
}

}  // namespace sluice::llm::detail
