#include <sluice/runtime/stop_signal.hpp>

#include <algorithm>
#include <utility>

namespace sluice {

void stop_signal::stop(stop_cause why) noexcept {
  if (why == stop_cause::none) return;
  std::vector<place> told;
  {
    const std::lock_guard lock(mutex_);
    if (cause_.load(std::memory_order_relaxed) != stop_cause::none) return;
    cause_.store(why, std::memory_order_release);
    told.swap(listeners_);
  }
  for (const place& each : told) {
    if (const auto alive = each.alive.lock()) alive->on_stop();
  }
}

void stop_signal::attach(std::weak_ptr<listener> who) {
  const auto alive = who.lock();
  if (alive == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (cause_.load(std::memory_order_relaxed) == stop_cause::none) {
      listeners_.push_back({alive.get(), std::move(who)});
      return;
    }
  }
  alive->on_stop();
}

void stop_signal::detach(const listener& who) noexcept {
  // A listener's memory may go with the last that knows of it: not under the mutex.
  std::weak_ptr<listener> gone;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(listeners_, &who, &place::who);
  if (found == listeners_.end()) return;
  gone.swap(found->alive);
  listeners_.erase(found);
}

}  // namespace sluice
