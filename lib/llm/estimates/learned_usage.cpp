#include "llm/estimates/learned_usage.hpp"

#include <algorithm>
#include <cmath>
#include <new>

namespace sluice::llm::detail {

namespace {

constexpr double kept = 0.98;
// What is beyond it is no length of an answer.
constexpr std::int64_t longest = std::int64_t{1} << 40;

}  // namespace

template <typename Value>
const Value* learned_usage::table<Value>::find(std::uint64_t key) const noexcept {
  const auto at = std::find_if(rows_.begin(), rows_.end(), [key](const row& one) { return one.key == key; });
  return at == rows_.end() ? nullptr : at->value.get();
}

template <typename Value>
Value& learned_usage::table<Value>::make(std::uint64_t key) {
  ++clock_;
  auto at = std::find_if(rows_.begin(), rows_.end(), [key](const row& one) { return one.key == key; });
  if (at == rows_.end()) {
    auto fresh = std::make_unique<Value>();
    if (rows_.size() < most_keys) {
      rows_.push_back(row{key, clock_, std::move(fresh)});
      return *rows_.back().value;
    }
    at = std::min_element(rows_.begin(), rows_.end(), [](const row& a, const row& b) { return a.heard < b.heard; });
    *at = row{key, clock_, std::move(fresh)};
  }
  at->heard = clock_;
  return *at->value;
}

void learned_usage::saw_input(std::uint64_t model, std::int64_t estimated, std::int64_t reported) noexcept {
  if (estimated <= 0 || reported <= 0) return;
  const auto guess = static_cast<double>(estimated);
  const auto truth = static_cast<double>(reported);
  if (truth > guess * most_credible || guess > truth * most_credible) return;
  const std::lock_guard lock(mutex_);
  try {
    inputs& known = inputs_.make(model);
    known.estimated = known.estimated * kept + guess;
    known.reported = known.reported * kept + truth;
    known.samples = std::min(known.samples + 1, least_inputs);
  } catch (const std::bad_alloc&) {
    // One sample less.
  }
}

double learned_usage::correction(std::uint64_t model) const noexcept {
  const std::lock_guard lock(mutex_);
  const inputs* const known = inputs_.find(model);
  if (known == nullptr || known->samples < least_inputs) return 1;
  return std::clamp(known->reported / known->estimated, 1 / most_correction, most_correction);
}

void learned_usage::saw_output(std::uint64_t kind, std::int64_t tokens, bool cut) noexcept {
  if (tokens < 0 || tokens > longest) return;
  const std::lock_guard lock(mutex_);
  try {
    outputs& known = outputs_.make(kind);
    known.lengths.add(std::max<std::int64_t>(1, tokens), cut);
    known.samples = std::min(known.samples + 1, least_outputs);
  } catch (const std::bad_alloc&) {
    // One sample less.
  }
}

std::optional<std::int64_t> learned_usage::output_quantile(std::uint64_t kind, double share) const noexcept {
  const std::lock_guard lock(mutex_);
  const outputs* const known = outputs_.find(kind);
  if (known == nullptr || known->samples < least_outputs) return std::nullopt;
  // The histogram's sums are short floats.
  return static_cast<std::int64_t>(std::ceil(known->lengths.quantile(share) * (1 - 1e-4)));
}

}  // namespace sluice::llm::detail
