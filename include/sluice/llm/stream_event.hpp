/// \file
/// `stream_event`: one thing that comes out of a streamed answer.
#pragma once

#include <sluice/llm/reply.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace sluice::llm {

/// One event of a streamed answer: texts as they come, then the tool calls, each whole, then the usage, then `done`.
/// A plain value.
class stream_event {
 public:
  /// What it is.
  enum class kind : std::uint8_t {
    /// More of the answer: `text`.
    text,
    /// More of the thoughts before it: `text`.
    reasoning,
    /// More of the reason why the model will not answer: `text`.
    refusal,
    /// A whole tool call: `call`.
    tool_call,
    /// The final usage: `usage`.
    usage,
    /// The answer is whole; `stream::result` has it. Nothing follows.
    done,
  };

  explicit stream_event(kind which) : type(which) {}
  stream_event(kind which, std::string said) : type(which), text(std::move(said)) {}
  explicit stream_event(llm::tool_call made) : type(kind::tool_call), call(std::move(made)) {}
  explicit stream_event(token_usage taken) : type(kind::usage), usage(taken) {}

  kind type;
  std::string text;
  llm::tool_call call;
  token_usage usage;
};

}  // namespace sluice::llm
