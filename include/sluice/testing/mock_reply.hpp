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
  mock_tool_call(std::string function, std::string json, std::string call_id = {})
      : name(std::move(function)), arguments(std::move(json)), id(std::move(call_id)) {}

  std::string name;
  /// JSON text, sent as it is.
  std::string arguments;
  /// Empty: `call_` and a number is given.
  std::string id;
};

/// One answer: reasoning, then text, then tool calls, each optional. A plain value; the functions chain:
/// `mock_reply::text("Let me see.").with_tool_call("lookup", R"({"q":1})")`.
///
/// Size in tokens: each word of reasoning and text (with the white space before it) is one, each tool call is one and
/// one more for every 8 bytes of arguments begun. Streamed, the arguments come in such fragments. The request's token
/// limit cuts the answer, and makes the reason `length`.
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
  /// Sent as `reasoning_content`, before the text.
  [[nodiscard]] mock_reply with_reasoning(std::string thoughts) &&;
  /// In place of `stop`, or of `tool_calls` when there are some.
  [[nodiscard]] mock_reply with_finish_reason(std::string reason) &&;
  /// Goes wrong on the way.
  [[nodiscard]] mock_reply with_fault(mock_fault wrong) &&;
  /// Adds a header to the answer.
  [[nodiscard]] mock_reply with_header(std::string name, std::string value) &&;

  /// Number of words to make up; negative: as the request wants; not looked at when there is content of its own.
  std::int64_t word_count = -1;
  std::string content;
  std::string reasoning;
  std::vector<mock_tool_call> calls;
  std::string finish_reason;
  mock_fault fault;
  std::vector<std::pair<std::string, std::string>> headers;
};

}  // namespace sluice::testing
