#include "agent/loop/loop_words.hpp"

#include "agent/loop/what_is_left.hpp"
#include "core/grouped.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::agent::detail {

namespace {

constexpr std::array axes{budget_axis::tokens, budget_axis::calls, budget_axis::tool_calls, budget_axis::money};
constexpr std::array members{&spending::tokens, &spending::calls, &spending::tool_calls, &spending::money};
constexpr const char* raise_it = "; raise its limit (run_settings::limit, run_scope::extend)";

std::string of_limit(std::int64_t limit) { return limit == unlimited ? "" : " of " + grouped(limit); }

}  // namespace

std::string turns_are_over(int most) {
  return "the model had not answered by its last turn, number " + grouped(most) +
         "; raise loop_options::max_turns, or look at what it keeps calling";
}

std::string time_is_over(const run_scope& run) {
  const instant now = run.gate().now();
  const instant until = run.working_deadline();
  std::string line = "the time of run " + run.path();
  line += until <= now ? " was over " + rounded(now - until) + " ago"
                       : " is too short, with " + rounded(until - now) + " left";
  if (run.deadline() > until) line += ", but for the " + rounded(run.deadline() - until) + " kept for its last answer";
  return line + "; give it a later deadline (run_settings::until)";
}

std::string budget_is_over(const run_scope& run, const run_balance& account, const spending& there_is,
                           const turn_size& next, bool near) {
  std::string line = "run " + run.path() + " has ";
  if (there_is.calls < (near ? 2 : 1)) {
    line += grouped(there_is.calls) + (there_is.calls == 1 ? " call" : " calls") + of_limit(account.limit.calls) +
            " left to make";
  } else {
    line += grouped(there_is.tokens) + " tokens" + of_limit(account.limit.tokens) +
            " left to spend, and a request takes " + grouped(next.input) + " for what was said, and at least " +
            grouped(next.fewest() - next.input) + " for its answer";
    if (near) line += "; a last answer after that would take at least " + grouped(next.fewest_of_another()) + " more";
  }
  return line + raise_it;
}

std::string tool_calls_are_over(const run_scope& run, const run_balance& account) {
  return "run " + run.path() + " has no tool call" + of_limit(account.limit.tool_calls) + " left to make" + raise_it;
}

std::uint32_t threshold_spent(const run_balance& account) {
  std::uint32_t reached = 0;
  for (const std::uint32_t percent : {50U, 80U, 95U, 100U}) {
    for (std::int64_t spending::*const axis : members) {
      const std::int64_t limit = account.limit.*axis;
      if (limit == unlimited || account.spent.*axis == 0) continue;
      // Limits and what is spent of them may be as large as their type.
      const double part =
          static_cast<double>(account.spent.*axis) / static_cast<double>(std::max<std::int64_t>(limit, 1));
      if (part * 100 >= percent) reached = percent;
    }
  }
  return reached;
}

std::string threshold_crossed(const run_scope& run, const run_balance& account) {
  std::string line = std::to_string(threshold_spent(account)) + " % of the budget of run " + run.path() + " is spent:";
  bool first = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t limit = account.limit.*members[i];
    const std::int64_t taken = account.spent.*members[i];
    if (limit == unlimited || taken == 0) continue;
    line += (std::exchange(first, false) ? " " : ", ") + grouped(taken) + " of " + grouped(limit) + " " +
            (axes[i] == budget_axis::tool_calls ? "tool calls" : std::string(to_string(axes[i])));
  }
  return line;
}

std::string cut_off(const llm::reply& answer, std::int64_t limit, bool shortened) {
  if (answer.finish == llm::finish_reason::length) {
    const std::string line = "the answer came to its limit of " + grouped(limit) + " tokens";
    if (shortened) return line + ", which is what the run could still pay" + raise_it;
    return line + "; raise loop_options::request.max_output_tokens, or default_output";
  }
  if (answer.finish == llm::finish_reason::content_filter) return "the provider's filter cut the answer off";
  if (answer.finish == llm::finish_reason::refusal || !answer.refusal.empty()) {
    return "the model would not answer" + (answer.refusal.empty() ? "" : ": " + answer.refusal);
  }
  return "the model's answer is empty: it ended (" + std::string(to_string(answer.finish)) +
         ") without a word and without a call, having produced " + grouped(answer.usage.output_tokens) + " tokens";
}

std::string answer_now(run_stop why) {
  std::string line = "No tool can be called any more: ";
  switch (why) {
    case run_stop::budget: line += "the budget is spent."; break;
    case run_stop::deadline: line += "the time is over."; break;
    default: line += "this is the last turn."; break;
  }
  return line + " Answer now, as well as you can, with what you have.";
}

std::string not_carried_out(run_stop why) {
  std::string line = "Not carried out: ";
  switch (why) {
    case run_stop::turns: return line + "there is no further turn in which its result could be used.";
    case run_stop::budget: return line + "the budget is spent.";
    case run_stop::deadline: return line + "the time is over.";
    case run_stop::cancelled: return line + "the run was cancelled.";
    default: return line + "the answer that made the call is not whole.";
  }
}

std::string called_before(const llm::tool_call& call, int most) {
  return "Not carried out: \"" + call.name + "\" has been called with exactly these arguments " + grouped(most) +
         (most == 1 ? " time" : " times") +
         " before. Use the results that are there, call it with other arguments, or answer.";
}

}  // namespace sluice::agent::detail
