/// \file
/// `tool_registry`: the tools of a toolbox, and whether a call of one may be carried out at all.
#pragma once

#include "agent/tools/argument_schema.hpp"
#include "agent/tools/tool_places.hpp"

#include <sluice/agent/tool_limits.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/agent/toolbox.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/tool_arguments.hpp>
#include <sluice/llm/tool_call.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace sluice::agent::detail {

class run_state;

/// A handler that needs its arguments alone.
using plain_handler = std::function<asio::awaitable<expected<std::string, error>>(const llm::tool_arguments&)>;
using any_handler = std::variant<tool_handler, plain_handler>;

/// One tool. Does not move, and does not change once it has been added.
class registered_tool {
 public:
  registered_tool(std::string tool_name, any_handler carries_out, tool_limits most, argument_schema rules);

  const std::string name;
  /// Of the runs of its calls.
  const std::string run_name;
  const any_handler handler;
  const tool_limits limits;
  const argument_schema schema;

  [[nodiscard]] bool is_limited() const noexcept { return limits.concurrency != unlimited; }
  /// Whether its calls have runs of their own. One that is never shown to anybody, and waits for nothing, is not made.
  [[nodiscard]] bool has_runs() const noexcept { return is_limited() || std::holds_alternative<tool_handler>(handler); }
  /// The places for calls that run at once, made when they are first needed. The first call says by which gate.
  [[nodiscard]] tool_places& places(bulkhead& gate);

 private:
  std::once_flag made_;
  std::unique_ptr<tool_places> places_;
};

/// Why a call is not carried out.
class tool_refusal {
 public:
  tool_refusal(tool_outcome what, std::string told) : outcome(what), text(std::move(told)) {}

  tool_outcome outcome;
  std::string text;
};

/// Thread safety: all but `add`, from any thread.
class tool_registry {
 public:
  explicit tool_registry(bulkhead& gate) noexcept : gate_(gate) {}

  void add(llm::tool offered, any_handler handler, tool_limits limits);

  [[nodiscard]] bulkhead& gate() const noexcept { return gate_; }
  [[nodiscard]] const std::vector<llm::tool>& tools() const noexcept { return offered_; }
  /// Null when there is none of that name.
  [[nodiscard]] registered_tool* find(std::string_view name) const;

  /// Whether a call of this tool (null: there is none) in that run may be carried out, as far as that can be told at
  /// once. Counts it among the tool's calls in the run's tree when it may.
  [[nodiscard]] std::optional<tool_refusal> refuse(registered_tool* which, const llm::tool_call& call,
                                                   run_state& in) const;

 private:
  [[nodiscard]] std::string unknown(const std::string& name) const;

  bulkhead& gate_;
  std::vector<llm::tool> offered_;
  std::vector<std::unique_ptr<registered_tool>> registered_;
  std::unordered_map<std::string_view, registered_tool*> by_name_;
};

}  // namespace sluice::agent::detail
