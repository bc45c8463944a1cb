#include <sluice/llm/estimator.hpp>

#include <algorithm>
#include <limits>
#include <string_view>

namespace sluice::llm {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// Negative settings pass through, so that the check of estimates sees them.
std::int64_t add(std::int64_t left, std::int64_t right) noexcept {
  std::int64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? most : sum;
}

std::int64_t bytes(std::string_view text) noexcept { return static_cast<std::int64_t>(text.size()); }

}  // namespace

cost character_estimator::operator()(const request& asked) const noexcept {
  std::int64_t characters = 0;
  for (const message& said : asked.messages) {
    characters += bytes(said.text);
    for (const tool_call& call : said.tool_calls) characters += bytes(call.name) + bytes(call.arguments);
  }
  for (const tool& offered : asked.tools) {
    characters += bytes(offered.name) + bytes(offered.description) + bytes(offered.parameters);
  }
  std::int64_t per_message = 0;
  if (__builtin_mul_overflow(tokens_per_message, static_cast<std::int64_t>(asked.messages.size()), &per_message)) {
    per_message = most;
  }
  const std::int64_t input = add(estimate_tokens(characters), per_message);
  const std::int64_t output = asked.max_output_tokens.value_or(default_output_tokens);
  return cost{.tokens = add(input, output), .output_tokens = output, .slots = 1};
}

}  // namespace sluice::llm
