/// \file
/// `run_result`: what a tool loop came to.
#pragma once

#include <sluice/core/run.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::agent {

/// How much of an answer there is.
enum class run_outcome : std::uint8_t {
  /// The model answered, of its own accord.
  complete,
  /// There may be something, but not all that was asked for: `run_result::stop` says why.
  partial,
  /// The same, because the run's budget was spent.
  budget_exhausted,
};

/// Why a loop ended.
enum class run_stop : std::uint8_t {
  /// The model answered.
  answer,
  /// `loop_options::max_turns`.
  turns,
  /// The budget of the run, or of a run above it.
  budget,
  /// The run's deadline.
  deadline,
  /// The answer came to its limit on tokens, was filtered, refused, or empty.
  cut_off,
  /// A call to the model failed: `run_result::why`.
  failed,
  /// The run or the caller was cancelled.
  cancelled,
};

[[nodiscard]] std::string_view to_string(run_outcome value) noexcept;
[[nodiscard]] std::string_view to_string(run_stop value) noexcept;

/// A plain value.
class run_result {
 public:
  run_result() = default;

  run_outcome outcome = run_outcome::partial;
  run_stop stop = run_stop::failed;
  /// The text of the last answer: whole, or what there was of it.
  std::string text;
  /// The last answer; null when there was none.
  std::shared_ptr<const llm::reply> last;
  /// Whether the last answer was asked for because a limit was near, without tools.
  bool finalised = false;
  /// In one line: what bound it, with the numbers and what to change. Empty when complete.
  std::string explanation;
  /// Of `run_stop::failed`, and others where a call said so: that failure. Else null.
  std::shared_ptr<const llm::failure> why;
  /// Answers of the model, and tool calls that were carried out: of this loop, not of loops inside its tools.
  int turns = 0;
  int tool_calls = 0;
  /// What the run's account has paid since the loop began: what runs below it and siblings in it have spent as well.
  spending spent{};
  /// What `loop_event::kind::warning` said.
  std::vector<std::string> warnings;
};

}  // namespace sluice::agent
