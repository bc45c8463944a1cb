/// \file
/// `tool_loop`: one loop of a model and its tools, from its first turn to its result.
#pragma once

#include "agent/loop/loop_report.hpp"
#include "agent/loop/repeated_calls.hpp"
#include "agent/loop/turn_means.hpp"
#include "agent/tools/tool_turn.hpp"

#include <sluice/agent/loop_options.hpp>
#include <sluice/agent/run_result.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/agent/toolbox.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/run.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/conversation.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>

#include <asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::agent::detail {

/// Once a limit is there (`limit_`), one more answer is asked for, without tools.
///
/// Lives in its caller's coroutine, and is a task of its run: `run_scope::leave` waits for it. Whoever cancels the run
/// ends what it waits for: the exchange at the gate, its tools by themselves.
class tool_loop {
 public:
  tool_loop(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools, loop_options&& how);
  tool_loop(const tool_loop&) = delete;
  tool_loop& operator=(const tool_loop&) = delete;
  ~tool_loop();

  /// Never throws.
  [[nodiscard]] static asio::awaitable<run_result> go(std::unique_ptr<tool_loop> self);

 private:
  using answer = expected<llm::reply, llm::failure>;

  // A turn. What need not be in the coroutine's frame is not: there is one for each run that is live.
  [[nodiscard]] bool may_begin(bool caller_cancelled);
  /// Not valid when the loop has ended.
  [[nodiscard]] asio::awaitable<answer> ask();
  /// False when the loop has ended.
  [[nodiscard]] bool digest(answer&& got);
  [[nodiscard]] bool wants_tools() const noexcept { return last_ && !last_->tool_calls.empty(); }
  void broke(std::exception_ptr thrown);

  // Before it.
  /// The run's account now. Warns of a threshold that it has crossed.
  run_balance watch_budget();
  void watch_limits(const run_balance& account);
  [[nodiscard]] bool may_ask_last() const;
  /// What to send next; nothing when the loop has ended.
  [[nodiscard]] std::optional<llm::request> next_request();
  [[nodiscard]] llm::request written();
  /// Whether the run pays for it many times over, whatever the estimate.
  [[nodiscard]] bool is_trifle(const llm::request& asked) const noexcept;
  /// What to do about a request of this size.
  enum class verdict { send, write_again, give_up };
  [[nodiscard]] verdict weigh(const turn_size& size, const run_balance& account);
  [[nodiscard]] verdict weigh_last(const turn_size& size);
  /// To that many tokens of input: false when no more of the history can be left out.
  [[nodiscard]] bool shorten_history(std::int64_t input, std::int64_t wanted_input, const char* why);
  [[nodiscard]] llm::call_options options() const;

  // After it.
  [[nodiscard]] bool recover(llm::failure why);
  [[nodiscard]] bool take(llm::reply said);
  void keep(llm::reply said);
  [[nodiscard]] asio::awaitable<void> carry_out();
  void answer_calls(run_stop why);

  void warn(std::string line);

  // At the end.
  void end(run_stop why, std::string words = {});
  void end(run_stop why, llm::failure failed);
  [[nodiscard]] run_result result();

  /// Its own: the caller's may be gone before it.
  lent_scope scope_;
  run_scope& run_{scope_.get()};
  llm::any_client model_;
  llm::conversation& talk_;
  toolbox& tools_;
  loop_options how_;
  loop_report report_;
  repeated_calls repeats_;
  bool is_task_ = false;
  const bool is_root_;
  const bool has_tools_;

  /// The last answer that has come.
  std::shared_ptr<llm::reply> last_;
  std::shared_ptr<const llm::failure> why_;
  std::vector<std::string> warnings_;
  int turns_ = 0;
  int tool_calls_ = 0;

  /// What the run had spent when this began, and when its account was last seen.
  spending before_;
  spending spent_;
  turn_means means_;
  std::uint32_t crossed_;

  std::optional<run_stop> limit_;
  std::string limit_words_;
  /// Once it has ended.
  run_stop stop_ = run_stop::failed;
  std::string explanation_;
  bool finalised_ = false;
  /// The last answer may spend what is kept for it.
  bool finalising_ = false;
  /// On the history, in tokens; and how many messages of it the last request had.
  std::int64_t most_history_;
  std::size_t sent_ = 0;
  /// Whether requests go without lines for the model alone, which have no room any more.
  bool terse_ = false;
  int retries_ = 0;
  /// Of the last request, by estimate.
  std::int64_t last_input_ = 0;
  /// On the answer; and whether it is less than was wanted.
  std::int64_t output_limit_ = 0;
  bool shortened_ = false;
};

}  // namespace sluice::agent::detail
