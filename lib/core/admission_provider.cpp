// What the provider says: trouble, a pause, and its limits.
#include "core/admission_state.hpp"

#include <algorithm>

namespace sluice::core {

void admission::state::signal(request_id id, provider_signal what, instant now, effects& out) {
  static_cast<void>(id);
  if (!adaptive_.enabled()) return;
  advance(now);
  const std::int64_t before = adaptive_.limit();
  if (adaptive_.signal(what, now_)) apply_adaptive(before, out);
  if (!queue_.empty()) settle(out);
}

void admission::state::pause(instant until, instant now, effects& out) {
  const instant present = now == never ? now_ : std::max(now, now_);
  if (!reopening_.pause(until, present, rules_.total.slots)) return;
  advance(now);
  if (!queue_.empty()) settle(out);
}

void admission::state::report_limits(const provider_limits& said, instant now, effects& out) {
  advance(now);
  reported_.report(said, now_);
  if (!queue_.empty()) settle(out);
}

void admission::state::start_after_pause() noexcept {
  if (queue_.empty()) reopening_.rest(now_);
  reopening_.started(now_);
}

}  // namespace sluice::core
