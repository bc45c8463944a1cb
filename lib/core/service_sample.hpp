/// \file
/// `service_sample`: what one exchange that ran to its end took.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstdint>

namespace sluice::core {

/// What ends sooner than this failed, or came out of a cache: it says nothing about how fast the provider works.
inline constexpr duration shortest_service = std::chrono::milliseconds(2);

struct service_sample {
  /// What was really used.
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  /// The most output that was allowed. An output as long as this was cut: its true length is not known. Zero or less:
  /// not said.
  std::int64_t reserved_output = 0;
  /// From the start of the exchange to the first token; negative: not known.
  duration to_first_token{-1};
  /// From the start of the exchange to its end.
  duration total{};

  /// Whether anything can be learned from it: it has usage, and took long enough.
  [[nodiscard]] constexpr bool usable() const noexcept {
    return output_tokens > 0 && input_tokens >= 0 && total >= shortest_service;
  }
  [[nodiscard]] constexpr bool first_token_known() const noexcept {
    return to_first_token >= duration::zero() && to_first_token <= total;
  }
};

}  // namespace sluice::core
