/// \file
/// `tool_result`: what has become of one tool call.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::agent {

/// How a tool call ended.
enum class tool_outcome : std::uint8_t {
  /// Its handler gave an answer.
  answered,
  /// Its handler gave an error, or threw.
  failed,
  /// There is no such tool, or the arguments are no JSON, too long, or not of the schema. The handler did not run.
  invalid,
  /// A limit of the tool's or the run's was reached, the budget could not pay, a hook or a person said no. The handler
  /// did not run.
  refused,
  /// It ran into the tool's timeout or the run's deadline.
  timed_out,
  /// The run, or the caller, was cancelled before it had ended.
  cancelled,
};

[[nodiscard]] std::string_view to_string(tool_outcome value) noexcept;

/// The one result of one call. A plain value.
class tool_result {
 public:
  explicit tool_result(llm::tool_call of) : call(std::move(of)) {}

  llm::tool_call call;
  tool_outcome outcome = tool_outcome::cancelled;
  /// What the model is told.
  std::string text;
  /// When its handler began; `never` when it did not; and how long it ran.
  instant began = never;
  duration ran{};

  /// Whether the model is told of an error.
  [[nodiscard]] bool is_error() const noexcept { return outcome != tool_outcome::answered; }
};

}  // namespace sluice::agent
