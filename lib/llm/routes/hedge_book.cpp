#include "llm/routes/hedge_book.hpp"

#include <algorithm>

namespace sluice::llm::detail {

std::optional<duration> hedge_book::delay(std::string_view model, bool streamed) const {
  if (options_.learned) {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(model);
    if (found != models_.end()) {
      const latency_quantile& seen = streamed ? found->second.first_event : found->second.whole;
      if (seen.samples() >= options_.least_samples)
        return std::max(seen.quantile(options_.quantile), options_.least_delay);
    }
  }
  if (!options_.after) return std::nullopt;
  return std::max(*options_.after, options_.least_delay);
}

void hedge_book::learn(const std::string& model, bool streamed, duration took) {
  if (!options_.learned) return;
  const std::lock_guard lock(mutex_);
  auto found = models_.find(model);
  if (found == models_.end()) {
    if (models_.size() >= most_models) return;
    found = models_.try_emplace(model).first;
  }
  (streamed ? found->second.first_event : found->second.whole).add(took);
}

void hedge_book::count(const hedge_statistics& more) {
  const std::lock_guard lock(mutex_);
  counts_.sent += more.sent;
  counts_.won += more.won;
  counts_.suppressed += more.suppressed;
  counts_.wasted_tokens += more.wasted_tokens;
}

hedge_statistics hedge_book::statistics() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace sluice::llm::detail
