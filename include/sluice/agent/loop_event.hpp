/// \file
/// `loop_event`: what happens in a tool loop, as it happens.
#pragma once

#include <sluice/agent/tool_result.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::agent {

/// One thing that happened. Its references live as long as the call that hands it out.
class loop_event {
 public:
  /// What it is.
  enum class kind : std::uint8_t {
    /// A turn of the model begins: `turn`.
    turn_started,
    /// More of the answer, or of the thoughts before it: `text`.
    text,
    reasoning,
    /// A handler begins: `call`.
    tool_started,
    /// A call has its result: `result`.
    tool_finished,
    /// What a turn took: `usage`.
    usage,
    /// Something the caller may want to know, in one line: `text`. A budget threshold, a history that was cut, an
    /// answer that was cut off by its limit, calls that repeat themselves.
    warning,
  };

  explicit loop_event(kind which, int in_turn) noexcept : type(which), turn(in_turn) {}

  kind type;
  /// From 1.
  int turn;
  std::string_view text;
  const llm::tool_call* call = nullptr;
  const tool_result* result = nullptr;
  llm::token_usage usage{};
};

[[nodiscard]] std::string_view to_string(loop_event::kind value) noexcept;

}  // namespace sluice::agent
