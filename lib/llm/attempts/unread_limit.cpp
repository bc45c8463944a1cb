#include "llm/attempts/unread_limit.hpp"

#include <algorithm>
#include <utility>

namespace sluice::llm::detail {

unread_limit::verdict unread_limit::begin_reading() {
  const std::lock_guard lock(mutex_);
  reading_ = true;
  return verdict_;
}

void unread_limit::end_reading(time_source& time) {
  if (length_ <= duration::zero() && deadline_ == never) return;
  const instant now = time.recent();
  const std::lock_guard lock(mutex_);
  reading_ = false;
  read_at_ = now;
  // One that comes too early looks again; that is cheaper than to move it with each event.
  if (time_ != nullptr) return;
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

void unread_limit::due(instant now) noexcept {
  const std::lock_guard lock(mutex_);
  if (time_ == nullptr) return;
  if (reading_) {
    time_ = nullptr;
    return;
  }
  if (const instant when = end(); when > now) return time_->arm(*this, when);
  time_ = nullptr;
  verdict_ = deadline_ <= now ? verdict::too_late : verdict::unread;
  owner_.left_unread(verdict_ == verdict::too_late, now);
}

void unread_limit::dropped() noexcept {
  const std::lock_guard lock(mutex_);
  time_ = nullptr;
}

}  // namespace sluice::llm::detail
