// Before a turn: what is left, whether it is the last one, and what is sent.
#include "agent/loop/loop_words.hpp"
#include "agent/loop/tool_loop.hpp"
#include "agent/loop/what_is_left.hpp"
#include "core/grouped.hpp"

#include <sluice/agent/history_policy.hpp>

#include <algorithm>
#include <utility>

namespace sluice::agent::detail {

run_balance tool_loop::watch_budget() {
  const run_balance now = run_.balance();
  // A run that has been closed tells zeros.
  if (now.spent.tokens < spent_.tokens || now.spent.calls < spent_.calls) return now;
  spent_ = now.spent;
  means_ = means_of(now, is_root_);
  const std::uint32_t reached = threshold_spent(now);
  if (std::exchange(crossed_, reached) < reached) warn(threshold_crossed(run_, now));
  return now;
}

void tool_loop::watch_limits(const run_balance& account) {
  if (limit_) return;
  if (run_.time_left() <= duration::zero()) {
    limit_ = run_stop::deadline;
    limit_words_ = time_is_over(run_);
  } else if (turns_ + (has_tools_ && how_.last_answer ? 1 : 0) >= how_.max_turns) {
    limit_ = run_stop::turns;
    limit_words_ = turns_are_over(how_.max_turns);
  } else if (has_tools_ && how_.last_answer && means_.working.tool_calls < 1) {
    limit_ = run_stop::budget;
    limit_words_ = tool_calls_are_over(run_, account);
  }
}

bool tool_loop::may_ask_last() const {
  return how_.last_answer && turns_ < how_.max_turns && run_.gate().now() < run_.deadline();
}

std::optional<llm::request> tool_loop::next_request() {
  const run_balance account = watch_budget();
  watch_limits(account);
  const std::int64_t wanted = how_.request.max_output_tokens.value_or(how_.default_output);
  for (;;) {
    if (limit_ && !may_ask_last()) {
      end(*limit_, limit_words_);
      return std::nullopt;
    }
    llm::request asked = written();
    asked.max_output_tokens = wanted;
    if (!limit_ && is_trifle(asked)) {
      output_limit_ = wanted;
      shortened_ = false;
      return asked;
    }
    auto estimated = model_.estimate(asked, options());
    if (!estimated) {
      end(run_stop::failed, std::move(estimated).error());
      return std::nullopt;
    }
    turn_size size = size_of(*estimated, wanted, how_);
    // As much as last time; at first, a call and a short result.
    size.growth = std::max<std::int64_t>(64, turns_ > 0 ? size.input - last_input_ : 0);
    switch (limit_ ? weigh_last(size) : weigh(size, account)) {
      case verdict::write_again: continue;
      case verdict::give_up: end(*limit_, limit_words_ + "; nor could a last answer be paid"); return std::nullopt;
      case verdict::send: break;
    }
    last_input_ = size.input;
    output_limit_ = size.output_for((finalising_ ? means_.last : means_.working).tokens);
    shortened_ = output_limit_ < wanted;
    asked.max_output_tokens = output_limit_;
    return asked;
  }
}

llm::request tool_loop::written() {
  llm::request asked = how_.request;
  const bool whole = most_history_ == unlimited || talk_.tokens(asked.model) <= most_history_;
  llm::request said = whole ? talk_.request_for({}) : fitted(talk_, most_history_, asked.model).request_for({});
  asked.messages = std::move(said.messages);
  sent_ = asked.messages.size();
  asked.tools = tools_.tools();
  // A call that is demanded every time leaves no answer.
  if (turns_ > 0 || limit_) {
    asked.forced_tool.clear();
    if (asked.choice == llm::tool_choice::required) asked.choice.reset();
  }
  if (limit_ && has_tools_) asked.choose(llm::tool_choice::none);

  // A provider that has paused goes on from its own words.
  std::string line = limit_ && has_tools_ && !terse_ ? answer_now(*limit_) : std::string();
  if (how_.tell_what_is_left && !terse_ && (!last_ || last_->finish != llm::finish_reason::paused)) {
    if (std::string left = what_is_left(run_.time_left(), means_.working); !left.empty()) {
      line += (line.empty() ? "" : " ") + ("(" + std::move(left) + ")");
    }
  }
  if (!line.empty()) asked.user(std::move(line));
  return asked;
}

bool tool_loop::is_trifle(const llm::request& asked) const noexcept {
  // A token is at least a byte; what an estimator adds for a picture, or by what it has learned, is within these
  // factors.
  std::int64_t bytes = 4'096;
  for (const llm::tool& each : asked.tools) {
    bytes += static_cast<std::int64_t>(each.description.size() + each.parameters.size()) + 64;
  }
  for (const llm::message& each : asked.messages) {
    if (!each.parts.empty() || !each.opaque.empty()) return false;
    bytes += static_cast<std::int64_t>(each.text.size()) + 64;
    for (const llm::tool_call& call : each.tool_calls) bytes += static_cast<std::int64_t>(call.arguments.size()) + 64;
  }
  // Others count answers, or hold what is not looked into.
  if (!asked.extra_fields.empty() || !asked.format.schema.empty()) return false;
  return means_.working.calls > 2 && means_.working.tokens / 8 > bytes &&
         means_.working.tokens / 8 > *asked.max_output_tokens;
}

tool_loop::verdict tool_loop::weigh(const turn_size& size, const run_balance& account) {
  const bool paid = size.is_paid_by(means_.working);
  // Without tools each answer is the last one.
  const bool near = has_tools_ && how_.last_answer && !size.leaves_another(means_.last);
  if (paid && !near) return verdict::send;
  const bool may_shorten = how_.history.fit_budget && means_.working.calls >= 1 && (turns_ == 0 || !how_.last_answer);
  if (may_shorten && shorten_history(size.input, means_.working.tokens / 4, "the run can pay for no more")) {
    return verdict::write_again;
  }
  limit_ = run_stop::budget;
  limit_words_ = budget_is_over(run_, account, paid ? means_.last : means_.working, size, paid);
  return verdict::write_again;
}

tool_loop::verdict tool_loop::weigh_last(const turn_size& size) {
  finalising_ = is_root_ && (finalising_ || *limit_ == run_stop::budget || !size.is_paid_by(means_.working));
  const spending& there_is = finalising_ ? means_.last : means_.working;
  if (size.is_paid_by(there_is)) return verdict::send;
  const std::int64_t output = size.answers * std::max(size.least, std::min(size.wanted, there_is.tokens / 4));
  if (how_.history.fit_budget && there_is.calls >= 1 &&
      shorten_history(size.input, there_is.tokens - output, "the last answer must be paid")) {
    return verdict::write_again;
  }
  return std::exchange(terse_, true) ? verdict::give_up : verdict::write_again;
}

bool tool_loop::shorten_history(std::int64_t input, std::int64_t wanted_input, const char* why) {
  if (wanted_input < 1 || wanted_input >= input) return false;
  const std::string& model = how_.request.model;
  const std::int64_t now = std::min(most_history_, talk_.tokens(model));
  const std::int64_t most = std::max<std::int64_t>(now - (input - wanted_input), 1);
  const std::size_t left = fitted(talk_, most, model).request_for({}).messages.size();
  if (left >= sent_) return false;
  most_history_ = most;
  warn("the history is cut from " + grouped(static_cast<std::int64_t>(sent_)) + " messages to " +
       grouped(static_cast<std::int64_t>(left)) + ", about " + grouped(most) + " tokens: " + why);
  return true;
}

llm::call_options tool_loop::options() const {
  llm::call_options how = run_.call_options(limit_.has_value());
  how.finalising = finalising_;
  return how;
}

}  // namespace sluice::agent::detail
