#include "llm/estimates/output_counter.hpp"

#include <algorithm>
#include <string_view>

namespace sluice::llm::detail {

void output_counter::add(const std::string& text, std::size_t& seen) noexcept {
  if (text.size() <= seen) return;
  words_.add(std::string_view(text).substr(seen));
  seen = text.size();
}

std::int64_t output_counter::count(const reply& so_far, std::int64_t produced_bytes, const text_ratios& by) noexcept {
  add(so_far.text, text_);
  add(so_far.reasoning, reasoning_);
  add(so_far.refusal, refusal_);
  const auto rest =
      std::max<std::int64_t>(0, produced_bytes - static_cast<std::int64_t>(text_ + reasoning_ + refusal_));
  return whole_tokens(words_.exact(by) + static_cast<double>(rest) / by.json);
}

}  // namespace sluice::llm::detail
