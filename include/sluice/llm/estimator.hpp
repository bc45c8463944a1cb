/// \file
/// `estimator`: how many tokens a request will take, before anybody knows.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/llm/request.hpp>

#include <cstdint>
#include <functional>

namespace sluice::llm {

/// Gives the cost to reserve for a request. Asked once for each admission, on the caller's thread; it must be callable
/// from several at once. What it gives is checked: a negative number, no slot, or more output than tokens is `errc::invalid_argument`, and
/// nothing is reserved.
using estimator = std::function<cost(const request&)>;

/// The default estimator: input is a quarter of the characters, rounded up, of messages, tool calls and tool schemas, and a
/// constant for each message; output is the request's limit, or a default. Characters are bytes of UTF-8, since
/// scripts beyond ASCII take more tokens for each character. Sums are held at the greatest number. A plain value.
class character_estimator {
 public:
  character_estimator() = default;

  [[nodiscard]] cost operator()(const request& asked) const noexcept;

  /// What a message costs beyond its text.
  std::int64_t tokens_per_message = 4;
  /// Reserved for the output when the request has no limit.
  std::int64_t default_output_tokens = 2'048;
};

/// Tokens in so many bytes of text: a quarter, rounded up.
[[nodiscard]] constexpr std::int64_t estimate_tokens(std::int64_t bytes) noexcept {
  return bytes <= 0 ? 0 : (bytes - 1) / 4 + 1;
}

}  // namespace sluice::llm
