#include <sluice/sim/timeline.hpp>

#include <algorithm>
#include <utility>

namespace sluice::sim {

bool timeline::later(const event& a, const event& b) noexcept {
  return a.when != b.when ? a.when > b.when : a.number > b.number;
}

void timeline::at(instant when, std::function<void()> what) {
  queue_.push_back(event{std::max(when, now_), events_++, std::move(what)});
  std::push_heap(queue_.begin(), queue_.end(), later);
}

void timeline::run_until(instant end) {
  while (!queue_.empty() && queue_.front().when <= end) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const event next = std::move(queue_.back());
    queue_.pop_back();
    now_ = next.when;
    next.what();
  }
  if (end != never) now_ = std::max(now_, end);
}

}  // namespace sluice::sim
