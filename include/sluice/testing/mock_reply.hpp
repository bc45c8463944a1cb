/// \file
/// `mock_reply`: what a mock provider is to answer.
#pragma once

#include <sluice/testing/mock_fault.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::testing {

/// A call that the model makes.
class mock_tool_call {
 public:
  mock_tool_call(std::string function, std::string input, std::string call_id = {})
      : name(std::move(function)), arguments(std::move(input)), id(std::move(call_id)) {}

  std::string name;
  /// JSON text, sent as it is.
  std::string arguments;
  /// Empty: `call_` (Anthropic: `toolu_`) and a number is given.
  std::string id;
};

/// One answer: reasoning, then text, then a refusal, then tool calls, each optional. A plain value that knows no
/// dialect; the functions chain: `mock_reply::text("Let me see.").with_tool_call("lookup", R"({"q":1})")`.
///
/// Size in tokens: each word of reasoning, text and refusal (with the white space before it) is one, each tool call is
/// one and one more for every 8 bytes of arguments begun. Streamed, the arguments come in such fragments. The request's
/// token limit cuts the answer, and makes the reason `length`.
class mock_reply {
 public:
  /// As many words as the request wants (`mock_request::wanted_output_tokens`), else 64.
  mock_reply() = default;

  /// `count` words, always the same ones.
  [[nodiscard]] static mock_reply words(std::int64_t count);
  [[nodiscard]] static mock_reply text(std::string said);
  [[nodiscard]] static mock_reply tool_call(std::string name, std::string arguments, std::string id = {});
  /// No answer but a fault.
  [[nodiscard]] static mock_reply failure(mock_fault wrong);

  [[nodiscard]] mock_reply with_tool_call(std::string name, std::string arguments, std::string id = {}) &&;
  /// Before the text: as `reasoning_content`, as a summary, or as a signed block of thinking.
  [[nodiscard]] mock_reply with_reasoning(std::string thoughts) &&;
  /// What the model says in place of an answer. Anthropic's has no form of its own: a text, and the reason `refusal`.
  [[nodiscard]] mock_reply with_refusal(std::string said) &&;
  /// So much of the prompt was read from the cache, or written into it (only Anthropic tells that); at most all of it.
  [[nodiscard]] mock_reply with_cached_tokens(std::int64_t read, std::int64_t written = 0) &&;
  /// In place of the usual one. `stop`, `length`, `tool_calls`, `content_filter` and `refusal` are said as each dialect
  /// says them (`end_turn`, `max_tokens`, `tool_use`, ...; Responses: status and details); `failed` is a failed
  /// response; any other is sent as it is.
  [[nodiscard]] mock_reply with_finish_reason(std::string reason) &&;
  /// Goes wrong on the way.
  [[nodiscard]] mock_reply with_fault(mock_fault wrong) &&;
  /// Adds a header to the answer.
  [[nodiscard]] mock_reply with_header(std::string name, std::string value) &&;

  /// Number of words to make up; negative: as the request wants; not looked at when there is content of its own.
  std::int64_t word_count = -1;
  std::string content;
  std::string reasoning;
  std::string refusal;
  std::vector<mock_tool_call> calls;
  std::int64_t cached_tokens = 0;
  std::int64_t cache_written_tokens = 0;
  std::string finish_reason;
  mock_fault fault;
  std::vector<std::pair<std::string, std::string>> headers;
};

}  // namespace sluice::testing
