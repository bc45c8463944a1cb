#include "agent/loop/tool_loop.hpp"

#include "agent/loop/loop_words.hpp"
#include "agent/loop/turn_answer.hpp"
#include "agent/runs/run_state.hpp"
#include "core/grouped.hpp"

#include <asio/cancellation_state.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

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

tool_loop::tool_loop(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools, loop_options&& how)
    : scope_(run_state::of(run)),
      model_(model),
      talk_(talk),
      tools_(tools),
      how_(std::move(how)),
      report_(how_),
      is_task_(run_state::of(run)->begin_task()),
      is_root_(run_state::of(run)->is_root()),
      has_tools_(!tools.tools().empty() && how_.request.choice != llm::tool_choice::none),
      most_history_(how_.history.most_tokens) {
  const run_balance account = run.balance();
  before_ = spent_ = account.spent;
  crossed_ = threshold_spent(account);
  how_.request.messages.clear();
  how_.request.tools.clear();
}

tool_loop::~tool_loop() {
  if (is_task_) run_state::of(run_)->end_task();
}

asio::awaitable<run_result> tool_loop::go(std::unique_ptr<tool_loop> self) {
  tool_loop& loop = *self;
  std::exception_ptr thrown;
  try {
    for (;;) {
      const asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
      if (!loop.may_begin(own.cancelled() != asio::cancellation_type::none)) co_return loop.result();
      asio::awaitable<answer> asking = loop.ask();
      if (!asking.valid()) co_return loop.result();
      auto got = co_await std::move(asking);
      if (!loop.digest(std::move(got))) co_return loop.result();
      if (loop.wants_tools()) co_await loop.carry_out();
    }
  } catch (...) {
    thrown = std::current_exception();
  }
  loop.broke(std::move(thrown));
  co_return loop.result();
}

bool tool_loop::may_begin(bool caller_cancelled) {
  if (auto holds = validate(how_); !holds) {
    end(run_stop::failed, llm::failure(std::move(holds).error()));
    return false;
  }
  if (is_task_ && !caller_cancelled && !run_.cancelled()) return true;
  end(run_stop::cancelled);
  return false;
}

asio::awaitable<tool_loop::answer> tool_loop::ask() {
  auto asked = next_request();
  if (!asked) return {};
  report_.turn(turns_ + 1);
  if (how_.streamed) return ask_streamed(model_, *std::move(asked), options(), report_);
  return model_.chat(*std::move(asked), options());
}

bool tool_loop::digest(answer&& got) {
  if (!got) return recover(std::move(got).error());
  if (!how_.streamed) {
    report_.reasoning(got->reasoning);
    report_.text(got->text.empty() ? got->refusal : got->text);
  }
  return take(*std::move(got));
}

void tool_loop::broke(std::exception_ptr thrown) {
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
    why_ = std::make_shared<llm::failure>(std::move(why));
    return true;
  }
  if (limit_ && about_budget && is_root_ && !std::exchange(finalising_, true)) return true;
  if (!limit_) {
    end(run_stop::failed, std::move(why));
    return false;
  }
  std::string words = limit_words_ + "; the last answer failed: " + why.message();
  end(*limit_, std::move(why));
  explanation_ = std::move(words);
  return false;
}

void tool_loop::keep(llm::reply said) {
  talk_.add(said);
  if (last_) {
    *last_ = std::move(said);
  } else {
    last_ = std::make_shared<llm::reply>(std::move(said));
  }
}

bool tool_loop::take(llm::reply said) {
  ++turns_;
  report_.usage(said.usage);
  keep(std::move(said));
  const llm::reply& last = *last_;
  if (last.announced_calls_missing) warn("the model announced tool calls, and made none");

  const bool asks = !last.tool_calls.empty();
  const bool is_empty = says_nothing(last.text.empty() ? last.refusal : last.text) && !asks;
  const bool is_cut = last.finish == llm::finish_reason::length;
  const bool is_paused = last.finish == llm::finish_reason::paused && !asks;
  if (limit_) {
    answer_calls(*limit_);
    finalised_ = true;
    if (is_cut || is_empty || is_refusal(last)) warn(cut_off(last, output_limit_, shortened_));
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
  if (is_cut) warn(cut_off(last, output_limit_, shortened_) + ", in the middle of its calls");
  if (turns_ < how_.max_turns) return true;
  answer_calls(run_stop::turns);
  end(run_stop::turns, turns_are_over(how_.max_turns));
  return false;
}

void tool_loop::answer_calls(run_stop why) {
  if (!last_) return;
  // Those that have their result refuse another one.
  for (const llm::tool_call& call : last_->tool_calls) {
    static_cast<void>(talk_.tool_result(call, not_carried_out(why), true));
  }
}

asio::awaitable<void> tool_loop::carry_out() {
  const std::vector<llm::tool_call>& calls = last_->tool_calls;
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
    if (how_.hooks.finished) how_.hooks.finished(told);
    if (times == how_.max_repeats + 1) {
      warn("the model repeats itself: it has called \"" + call.name + "\" with the same arguments " + grouped(times) +
           " times; from now on it is told so (loop_options::max_repeats)");
    }
  }
  std::vector<tool_result> done;
  if (!fresh.empty()) done = co_await tools_.all(run_, std::move(fresh), how_.hooks);
  auto next = done.begin();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_fresh[i]) {
      static_cast<void>(talk_.tool_result(calls[i], called_before(calls[i], how_.max_repeats), true));
    } else if (next != done.end()) {
      tool_calls_ += next->began != never ? 1 : 0;
      static_cast<void>(talk_.tool_result(calls[i], std::move(next->text), next->is_error()));
      ++next;
    }
  }
  // They are in the conversation, and would only be kept twice while the model answers.
  std::vector<llm::tool_call>().swap(last_->tool_calls);
}

void tool_loop::warn(std::string line) {
  report_.warning(line);
  warnings_.push_back(std::move(line));
}

void tool_loop::end(run_stop why, llm::failure failed) {
  std::string words = failed.message();
  why_ = std::make_shared<llm::failure>(std::move(failed));
  end(why, std::move(words));
}

void tool_loop::end(run_stop why, std::string words) {
  watch_budget();
  stop_ = why;
  explanation_ = std::move(words);
  if (why == run_stop::cancelled) {
    explanation_ =
        "run " + run_.path() + " was cancelled after " + grouped(turns_) + (turns_ == 1 ? " turn" : " turns");
  }
}

run_result tool_loop::result() {
  if (last_ && last_->finish != llm::finish_reason::none && last_->tool_calls.empty()) {
    const auto& said = talk_.messages();
    const auto last = std::find_if(said.rbegin(), said.rend(),
                                   [](const llm::message& each) { return each.who == llm::role::assistant; });
    if (last != said.rend()) last_->tool_calls = last->tool_calls;
  }
  run_result made;
  if (last_) made.text = last_->text.empty() ? last_->refusal : last_->text;
  made.last = std::move(last_);
  made.stop = stop_;
  const bool for_want_of_budget = stop_ == run_stop::budget || (stop_ == run_stop::cut_off && shortened_);
  made.outcome = stop_ == run_stop::answer ? run_outcome::complete
                 : for_want_of_budget      ? run_outcome::budget_exhausted
                                           : run_outcome::partial;
  made.finalised = finalised_;
  made.explanation = std::move(explanation_);
  made.why = std::move(why_);
  made.turns = turns_;
  made.tool_calls = tool_calls_;
  made.spent.tokens = spent_.tokens - before_.tokens;
  made.spent.calls = spent_.calls - before_.calls;
  made.spent.tool_calls = spent_.tool_calls - before_.tool_calls;
  made.spent.money = spent_.money - before_.money;
  made.warnings = std::move(warnings_);
  return made;
}

}  // namespace sluice::agent::detail
