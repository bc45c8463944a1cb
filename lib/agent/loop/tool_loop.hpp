/// \file
/// `tool_loop`: one loop of a model and its tools, from its first turn to its result.
#pragma once

#include "agent/loop/loop_report.hpp"
#include "agent/loop/repeated_calls.hpp"
#include "agent/loop/turn_means.hpp"

#include <sluice/agent/loop_options.hpp>
#include <sluice/agent/run_result.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/agent/toolbox.hpp>
#include <sluice/core/run.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/conversation.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::agent::detail {

/// All that it is given must outlive it. Once a limit is there (`limit_`), one more answer is asked for, without tools.
class tool_loop {
 public:
  tool_loop(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools, loop_options& how,
            run_result& into);

  /// Completes when the result is there. Never throws.
  [[nodiscard]] asio::awaitable<void> go();
  /// Instead of `go`, when the run takes no task any more.
  void not_begun() { end(run_stop::cancelled); }

 private:
  // Before a turn.
  void watch_budget();
  void watch_limits();
  [[nodiscard]] bool may_ask_last() const;
  /// What to send next; nothing when the loop has ended.
  [[nodiscard]] std::optional<llm::request> next_request();
  [[nodiscard]] llm::request written();
  /// What to do about a request of this size.
  enum class verdict { send, write_again, give_up };
  [[nodiscard]] verdict weigh(const turn_size& size);
  [[nodiscard]] verdict weigh_last(const turn_size& size);
  /// To that many tokens of input: false when no more of the history can be left out.
  [[nodiscard]] bool shorten_history(std::int64_t input, std::int64_t wanted_input, const char* why);
  [[nodiscard]] llm::call_options options() const;

  // After it.
  [[nodiscard]] bool recover(llm::failure why);
  [[nodiscard]] bool take(llm::reply answer);
  [[nodiscard]] asio::awaitable<void> carry_out();
  void answer_calls(run_stop why);
  void keep(const llm::reply& answer);

  // At the end.
  void end(run_stop why, std::string words = {});
  void end(run_stop why, llm::failure failed);

  run_scope& run_;
  llm::any_client model_;
  llm::conversation& talk_;
  toolbox& tools_;
  loop_options& how_;
  run_result& result_;
  loop_report report_;
  repeated_calls repeats_;
  const bool is_root_;
  const bool has_tools_;

  /// The run's account when it began, and as it was last seen.
  spending before_;
  run_balance account_;
  turn_means means_;
  std::uint32_t crossed_;

  std::optional<run_stop> limit_;
  std::string limit_words_;
  /// The last answer may spend what is kept for it.
  bool finalising_ = false;
  /// On the history, in tokens; and how many messages of it the last request had.
  std::int64_t most_history_;
  std::size_t sent_ = 0;
  int retries_ = 0;
  /// Of the last request, by estimate.
  std::int64_t last_input_ = 0;
  /// On the answer; and whether it is less than was wanted.
  std::int64_t output_limit_ = 0;
  bool shortened_ = false;
};

}  // namespace sluice::agent::detail
