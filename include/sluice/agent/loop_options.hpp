/// \file
/// `loop_options`: how a tool loop asks its model, how long it goes on, and who is told.
#pragma once

#include <sluice/agent/history_policy.hpp>
#include <sluice/agent/loop_event.hpp>
#include <sluice/agent/tool_hooks.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/request.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace sluice::agent {

/// A plain value; what is not said has a bound all the same.
class loop_options {
 public:
  /// `model_name` as the provider calls it.
  explicit loop_options(std::string model_name) : request(std::move(model_name)) {}
  /// With everything that each request of the loop is to say: limits, temperature, format, extras. Its messages and
  /// tools are not looked at. A tool call that it demands (`choose`, `force_tool`) is demanded in the first turn alone.
  explicit loop_options(llm::request template_of_requests) : request(std::move(template_of_requests)) {}

  llm::request request;
  /// Answers of the model, the last one included; at least 1.
  int max_turns = 16;
  /// When the loop comes to its last turn, or to the end of its budget or its time, the model is asked once more,
  /// without tools, to answer with what it has: in a root, out of what is kept for that
  /// (`run_settings::keep_for_last_answer`). The budget is at its end as soon as it would not pay for another request
  /// after the next one. Off: the loop just ends.
  bool last_answer = true;
  /// The most tokens of an answer are cut to what the run can still pay, once what others have set aside has come back.
  /// With less than this it is out of budget.
  std::int64_t least_output = 64;
  /// What a request without a limit on its output is given as one.
  std::int64_t default_output = 4'096;
  /// The same call with the same arguments, so often in one loop, is not carried out again: the model is told.
  int max_repeats = 3;
  /// Each request ends with a line on what is left: "about 20 s and 3,000 tokens left".
  bool tell_what_is_left = false;
  /// Ask for streamed answers, so that text comes as it is made.
  bool streamed = false;
  history_policy history{};
  tool_hooks hooks;
  /// Told of everything, in order, on the loop's executor; may be empty. What it throws is dropped.
  std::function<void(const loop_event&)> on_event;
};

/// Errors: `errc::invalid_argument`, naming the field.
[[nodiscard]] expected<void, error> validate(const loop_options& checked);

}  // namespace sluice::agent
