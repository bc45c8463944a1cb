/// \file
/// `tool_hooks`: who is asked before a tool runs, and told after it.
#pragma once

#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/tool_call.hpp>

#include <asio/awaitable.hpp>

#include <functional>

namespace sluice::agent {

/// All may be empty. They are copied for each turn. `before`, `approve` and `after` run on the strand of the turn's
/// tasks; `started` and `finished` one at a time. What is thrown counts as a refusal by `before` and `approve`, and is
/// dropped by the others. None is called about a call that was stopped or has its result, but for `finished`, which is
/// told so. The scope that they are given is the run's, and lives until they have ended. A plain value.
class tool_hooks {
 public:
  tool_hooks() = default;

  /// Before a call that is valid, and before it is paid for: an error refuses it, and the model is told its message.
  /// All calls of a turn are asked about side by side, whatever the width.
  std::function<asio::awaitable<expected<void, error>>(run_scope&, const llm::tool_call&)> before;
  /// For tools marked `needs_approval`, after `before`: whether a person, or a rule, lets it. While it is asked the
  /// call holds nothing: no width, no place at its tool.
  std::function<asio::awaitable<bool>(run_scope&, const llm::tool_call&)> approve;
  /// After the handler, unless the call was stopped: may change what the model is told (`text`), or make an error of it
  /// (`outcome`); the rest stays as it is.
  std::function<asio::awaitable<void>(run_scope&, tool_result&)> after;
  /// A handler begins; a call has its result, for each call once, also when no handler ran. They watch, and do not
  /// wait.
  std::function<void(const llm::tool_call&)> started;
  std::function<void(const tool_result&)> finished;
};

}  // namespace sluice::agent
