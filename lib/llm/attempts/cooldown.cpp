#include "llm/attempts/cooldown.hpp"

#include <algorithm>

namespace sluice::llm::detail {

namespace {

// A pause of no length would end one that is in force.
constexpr duration shortest = std::chrono::milliseconds(1);

// More change nothing: the back-off has long been at its longest.
constexpr int most_failures = 100;

}  // namespace

instant cooldown::begin(instant sent, std::optional<duration> asked) {
  const instant now = gate_.now();
  const std::lock_guard lock(mutex_);
  const bool counted = sent <= begun_;
  if (!counted) {
    begun_ = now;
    failures_.store(std::min(failures_.load(std::memory_order_relaxed) + 1, most_failures), std::memory_order_relaxed);
  }
  duration length{};
  if (asked) {
    const duration wait = std::min(*asked, rules_.max_retry_after);
    length = wait + waits_.added_to(wait);
  } else if (!counted) {
    length = waits_.up_to(waits_.longest(failures_.load(std::memory_order_relaxed)));
  } else {
    return until_;
  }
  length = std::max(length, shortest);
  if (const instant until = after(now, length); until > until_) {
    until_ = until;
    gate_.pause(length);
  }
  return until_;
}

}  // namespace sluice::llm::detail
