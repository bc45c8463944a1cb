#include "agent/loop/tool_loop.hpp"

#include "agent/loop/loop_words.hpp"
#include "agent/runs/run_state.hpp"
#include "agent/loop/turn_answer.hpp"
#include "core/grouped.hpp"

#include <asio/cancellation_state.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace sluice::agent::detail {

namespace {

bool says_nothing(const std::string& text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

bool is_refusal(const llm::reply& answer) {
  return answer.finish == llm::finish_reason::content_filter || answer.finish == llm::finish_reason::refusal ||
         (says_nothing(answer.text) && !answer.refusal.empty() && answer.tool_calls.empty());
}

bool is_about_time(const llm::failure& why) {
  return why.is(errc::deadline_exceeded) || (why.refusal && why.refusal->reason() == reason::infeasible);
}

bool is_about_budget(const llm::failure& why) {
  return why.refusal && why.refusal->reason() == reason::budget_exhausted;
}

}  // namespace

tool_loop::tool_loop(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools, loop_options& how,
                     run_result& into)
    : run_(run),
      model_(model),
      talk_(talk),
      tools_(tools),
      how_(how),
      result_(into),
      report_(how, into),
      is_root_(run_state::of(run)->is_root()),
      has_tools_(!tools.tools().empty() && how.request.choice != llm::tool_choice::none),
      account_(run.balance()),
      crossed_(account_.crossed),
      most_history_(how.history.most_tokens) {
  before_ = account_.spent;
  how_.request.messages.clear();
  how_.request.tools.clear();
}

asio::awaitable<void> tool_loop::go() {
  std::exception_ptr thrown;
  try {
    if (auto holds = validate(how_); !holds) {
      end(run_stop::failed, llm::failure(std::move(holds).error()));
      co_return;
    }
    for (;;) {
      const asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
      if (run_.cancelled() || own.cancelled() != asio::cancellation_type::none) {
        end(run_stop::cancelled);
        co_return;
      }
      auto asked = next_request();
      if (!asked) co_return;
      report_.turn(result_.turns + 1);
      auto answer = co_await ask_model(model_, *std::move(asked), options(), how_.streamed, report_);
      if (!answer) {
        if (!recover(std::move(answer).error())) co_return;
        continue;
      }
      if (!take(*std::move(answer))) co_return;
      if (!result_.last.tool_calls.empty()) co_await carry_out();
    }
  } catch (...) {
    thrown = std::current_exception();
  }
  llm::failure why = failure_of(std::move(thrown));
  const run_stop stop = why.is(errc::cancelled) ? run_stop::cancelled : run_stop::failed;
  answer_calls(stop);
  end(stop, std::move(why));
}

bool tool_loop::recover(llm::failure why) {
  if (why.is(errc::context_too_long) && retries_ < how_.history.retries_when_too_long) {
    ++retries_;
    const std::int64_t now = std::min(most_history_, talk_.tokens(how_.request.model));
    if (shorten_history(now, now / 2, "it was too long for the model")) return true;
  }
  if (why.partial) keep(*why.partial);
  if (run_.cancelled() || why.is(errc::cancelled)) {
    answer_calls(run_stop::cancelled);
    end(run_stop::cancelled, std::move(why));
    return false;
  }
  answer_calls(run_stop::failed);
  const bool about_budget = is_about_budget(why);
  if (!limit_ && (about_budget || is_about_time(why))) {
    limit_ = about_budget ? run_stop::budget : run_stop::deadline;
    limit_words_ = why.message();
    result_.why = std::move(why);
    return true;
  }
  if (limit_ && about_budget && is_root_ && !std::exchange(finalising_, true)) return true;
  if (!limit_) {
    end(run_stop::failed, std::move(why));
    return false;
  }
  std::string words = limit_words_ + "; the last answer failed: " + why.message();
  end(*limit_, std::move(why));
  result_.explanation = std::move(words);
  return false;
}

void tool_loop::keep(const llm::reply& answer) {
  talk_.add(answer);
  result_.last = answer;
  result_.text = answer.text.empty() ? answer.refusal : answer.text;
}

bool tool_loop::take(llm::reply answer) {
  ++result_.turns;
  report_.usage(answer.usage);
  talk_.add(answer);
  result_.last = std::move(answer);
  const llm::reply& last = result_.last;
  result_.text = last.text.empty() ? last.refusal : last.text;
  if (last.announced_calls_missing) report_.warn("the model announced tool calls, and made none");

  const bool asks = !last.tool_calls.empty();
  const bool is_empty = says_nothing(result_.text) && !asks;
  const bool is_cut = last.finish == llm::finish_reason::length;
  const bool is_paused = last.finish == llm::finish_reason::paused && !asks;
  if (limit_) {
    answer_calls(*limit_);
    result_.finalised = true;
    if (is_cut || is_empty || is_refusal(last)) report_.warn(cut_off(last, output_limit_, shortened_));
    end(*limit_, limit_words_ + "; the model was asked to answer with what it had");
    return false;
  }
  if (is_refusal(last) || (!asks && !is_paused && (is_cut || is_empty))) {
    answer_calls(run_stop::cut_off);
    end(run_stop::cut_off, cut_off(last, output_limit_, shortened_));
    return false;
  }
  if (!asks && !is_paused) {
    end(run_stop::answer);
    return false;
  }
  if (is_cut) report_.warn(cut_off(last, output_limit_, shortened_) + ", in the middle of its calls");
  if (result_.turns < how_.max_turns) return true;
  answer_calls(run_stop::turns);
  end(run_stop::turns, turns_are_over(how_.max_turns));
  return false;
}

void tool_loop::answer_calls(run_stop why) {
  // Those that have their result refuse another one.
  for (const llm::tool_call& call : result_.last.tool_calls) {
    static_cast<void>(talk_.tool_result(call, not_carried_out(why), true));
  }
}

asio::awaitable<void> tool_loop::carry_out() {
  const std::vector<llm::tool_call>& calls = result_.last.tool_calls;
  std::vector<llm::tool_call> fresh;
  std::vector<bool> is_fresh;
  for (const llm::tool_call& call : calls) {
    const auto times = static_cast<std::int64_t>(repeats_.count(call));
    is_fresh.push_back(times <= how_.max_repeats);
    if (is_fresh.back()) {
      fresh.push_back(call);
      continue;
    }
    tool_result told(call);
    told.outcome = tool_outcome::refused;
    told.text = called_before(call, how_.max_repeats);
    report_.finished(told);
    if (times == how_.max_repeats + 1) {
      report_.warn("the model repeats itself: it has called \"" + call.name + "\" with the same arguments " + grouped(times) +
                   " times; from now on it is told so (loop_options::max_repeats)");
    }
  }
  std::vector<tool_result> done;
  if (!fresh.empty()) done = co_await tools_.all(run_, std::move(fresh), report_.hooks());
  auto next = done.begin();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_fresh[i]) {
      static_cast<void>(talk_.tool_result(calls[i], called_before(calls[i], how_.max_repeats), true));
    } else if (next != done.end()) {
      result_.tool_calls += next->began != never ? 1 : 0;
      static_cast<void>(talk_.tool_result(calls[i], std::move(next->text), next->is_error()));
      ++next;
    }
  }
}

void tool_loop::end(run_stop why, llm::failure failed) {
  std::string words = failed.message();
  result_.why = std::move(failed);
  end(why, std::move(words));
}

void tool_loop::end(run_stop why, std::string words) {
  watch_budget();
  result_.stop = why;
  result_.explanation = std::move(words);
  result_.spent.tokens = account_.spent.tokens - before_.tokens;
  result_.spent.calls = account_.spent.calls - before_.calls;
  result_.spent.tool_calls = account_.spent.tool_calls - before_.tool_calls;
  result_.spent.money = account_.spent.money - before_.money;
  const bool for_want_of_budget = why == run_stop::budget || (why == run_stop::cut_off && shortened_);
  result_.outcome = why == run_stop::answer ? run_outcome::complete
                    : for_want_of_budget    ? run_outcome::budget_exhausted
                                            : run_outcome::partial;
  if (why == run_stop::cancelled) {
    result_.explanation = "run " + run_.path() + " was cancelled after " + grouped(result_.turns) +
                          (result_.turns == 1 ? " turn" : " turns");
  }
}

}  // namespace sluice::agent::detail
