// What is tried again, beside what is done for the first time.
#include "core/admission_state.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::core {

void admission::state::reserve_repeat(std::uint32_t index) noexcept {
  tickets_[index].repeats = true;
  retries_.wait(tickets_[index].tokens);
}

void admission::state::count_repeat(std::uint32_t index) noexcept {
  ticket& which = tickets_[index];
  ++attempts_[static_cast<std::size_t>(which.kind)];
  if (which.repeats) retries_.start(which.tokens, now_);
  which.repeats = false;
}

void admission::state::release_reserved(std::uint32_t index, effects& out) {
  ticket& gone = tickets_[index];
  if (gone.repeats) retries_.leave(gone.tokens);
  gone.repeats = false;
  settle_price(index, {}, out);
}

void admission::state::describe_retries(const candidate& what, decision& into) const noexcept {
  const auto whole = [](wide value) { return static_cast<std::int64_t>(std::clamp<wide>(value, 0, unlimited)); };
  const auto rounded = [](double value) {
    return value < static_cast<double>(largest_pool) ? static_cast<std::int64_t>(value) : largest_pool;
  };
  const retry_window::counts there = retries_.within(now_);
  const double share = rules_.retries.share;
  into.limit = whole(there.fresh);
  into.available = whole(wide{rounded(share * static_cast<double>(there.fresh))} - there.again.tokens);
  const double wanted = share > 0 ? std::ceil(static_cast<double>(there.again.tokens + what.asked.tokens) / share) : 0;
  into.shortfall = share > 0 ? whole(wide{rounded(wanted)} - there.fresh) : unlimited;
  into.ahead = static_cast<std::size_t>(there.again.count);
  into.ahead_tokens = whole(there.again.tokens);
}

}  // namespace sluice::core
