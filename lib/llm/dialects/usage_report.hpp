/// \file
/// `usage_report`: what a provider says of its usage, which may be a part of it.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::llm {

/// Figures as they came; what is missing or negative is absent. Numbers alone.
struct usage_report {
  std::optional<std::int64_t> input_tokens{};
  std::optional<std::int64_t> output_tokens{};
  std::int64_t cached_tokens = 0;
  std::int64_t reasoning_tokens = 0;
  std::int64_t cache_written_tokens = 0;

  friend constexpr bool operator==(const usage_report&, const usage_report&) noexcept = default;
};

}  // namespace sluice::llm
