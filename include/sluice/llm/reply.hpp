/// \file
/// `reply`: what the model answered, and what it took.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/llm/content.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::llm {

/// Why the model stopped.
enum class finish_reason : std::uint8_t {
  /// It has not said: the answer is not whole.
  none,
  /// It was done, or came to a stop sequence.
  stop,
  /// It came to the limit on output tokens, or to the end of its context.
  length,
  /// It waits for the results of its tool calls.
  tool_calls,
  /// The provider's filter cut in.
  content_filter,
  /// The model would not answer, and says so by its reason alone (`reply::refusal` may hold words).
  refusal,
  /// The provider stopped for now: send the conversation again with this answer in it, to go on.
  paused,
  /// A reason that the dialect does not know.
  other,
};

[[nodiscard]] std::string_view to_string(finish_reason value) noexcept;

/// Tokens as the provider counted them, or as they were estimated when it did not.
struct token_usage {
  /// The whole prompt, the cached part included.
  std::int64_t input_tokens = 0;
  /// All that was produced, reasoning included.
  std::int64_t output_tokens = 0;
  /// Of the input, what the provider had cached; never more than the input.
  std::int64_t cached_tokens = 0;
  /// Of the output, what was reasoning; never more than the output.
  std::int64_t reasoning_tokens = 0;
  /// The provider did not send both totals, or sent a negative one: what is missing is an estimate.
  bool estimated = false;
  /// Of the input, what the provider has put into its cache.
  std::int64_t cache_written_tokens = 0;

  /// What a permit is settled with.
  [[nodiscard]] constexpr sluice::usage total() const noexcept { return {input_tokens, output_tokens}; }
  /// Of two exchanges together; an estimate when a part of it is one.
  friend constexpr token_usage operator+(token_usage all, const token_usage& more) noexcept {
    all.input_tokens += more.input_tokens;
    all.output_tokens += more.output_tokens;
    all.cached_tokens += more.cached_tokens;
    all.reasoning_tokens += more.reasoning_tokens;
    all.cache_written_tokens += more.cache_written_tokens;
    all.estimated = all.estimated || more.estimated;
    return all;
  }
  friend constexpr bool operator==(const token_usage&, const token_usage&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<token_usage>);

/// One answer. A plain value.
class reply {
 public:
  reply() = default;

  std::string text;
  /// What the model thought before, where the server shows it.
  std::string reasoning;
  /// Why the model would not answer, when it says so apart from the text.
  std::string refusal;
  /// In the order in which the model numbered them; also when `finish` is not `tool_calls`.
  std::vector<tool_call> tool_calls;
  /// What the provider wants handed back with the conversation; `request::assistant(reply)` does.
  std::vector<opaque_block> opaque;
  finish_reason finish = finish_reason::none;
  /// The text that made it stop, where the provider tells.
  std::string stop_sequence;
  token_usage usage;
  /// The model that answered, and the answer's name, as the provider tells them.
  std::string model;
  std::string id;
  /// The provider's name for the exchange (`x-request-id` and its like), for its support.
  std::string request_id;
  /// `finish` says tool calls, and there are none.
  bool announced_calls_missing = false;
  /// The stream ended right after its last event, without the blank line that should end it.
  bool unterminated = false;
};

}  // namespace sluice::llm
