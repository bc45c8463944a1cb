#include <sluice/testing/manual_time_source.hpp>

#include <algorithm>

namespace sluice::testing {

manual_time_source::~manual_time_source() {
  std::unique_lock lock(mutex_);
  while (!queue_.empty()) {
    entry& who = *queue_.begin()->second;
    take_out(who);
    lock.unlock();
    who.dropped();
    lock.lock();
  }
}

instant manual_time_source::now() const noexcept {
  const std::lock_guard lock(mutex_);
  return now_;
}

void manual_time_source::arm(entry& who, instant when) {
  const std::lock_guard lock(mutex_);
  take_out(who);
  if (when == never) return;
  const auto number = ++armings_;
  instants_.emplace(number, when);
  queue_.emplace(key{when, number}, &who);
  place(who) = static_cast<std::size_t>(number);
}

void manual_time_source::disarm(entry& who) noexcept {
  std::unique_lock lock(mutex_);
  take_out(who);
  if (running_ != &who || driver_ == std::this_thread::get_id()) return;
  settled_.wait(lock, [&] { return running_ != &who; });
  // It may have armed itself again while it ran.
  take_out(who);
}

void manual_time_source::advance(duration length) {
  std::unique_lock lock(mutex_);
  const bool nested = advancing_ && driver_ == std::this_thread::get_id();
  if (!nested) settled_.wait(lock, [&] { return !advancing_; });
  run_until(lock, after(now_, length));
}

void manual_time_source::advance_to(instant when) {
  std::unique_lock lock(mutex_);
  const bool nested = advancing_ && driver_ == std::this_thread::get_id();
  if (!nested) settled_.wait(lock, [&] { return !advancing_; });
  run_until(lock, when);
}

void manual_time_source::run_until(std::unique_lock<std::mutex>& lock, instant when) {
  target_ = std::max({target_, when, now_});
  if (advancing_) return;
  advancing_ = true;
  driver_ = std::this_thread::get_id();
  while (!queue_.empty() && queue_.begin()->first.first <= target_) {
    entry& who = *queue_.begin()->second;
    now_ = std::max(now_, queue_.begin()->first.first);
    take_out(who);
    running_ = &who;
    const auto at = now_;
    lock.unlock();
    who.due(at);
    lock.lock();
    // `who` may be gone by now; only its address is compared.
    running_ = nullptr;
    settled_.notify_all();
  }
  now_ = target_;
  target_ = instant::min();
  advancing_ = false;
  driver_ = {};
  settled_.notify_all();
}

void manual_time_source::take_out(entry& who) noexcept {
  if (place(who) == 0) return;
  const auto found = instants_.find(place(who));
  queue_.erase({found->second, found->first});
  instants_.erase(found);
  place(who) = 0;
}

instant manual_time_source::next() const noexcept {
  const std::lock_guard lock(mutex_);
  return queue_.empty() ? never : queue_.begin()->first.first;
}

std::size_t manual_time_source::armed() const noexcept {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace sluice::testing
