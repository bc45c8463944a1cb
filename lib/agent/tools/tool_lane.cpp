// The tasks of a turn: what is asked before a call, and the lanes that carry calls out.
#include "agent/runs/run_state.hpp"
#include "agent/tools/tool_turn.hpp"
#include "agent/tools/tool_words.hpp"

#include <asio/this_coro.hpp>

#include <exception>
#include <utility>
#include <variant>

namespace sluice::agent::detail {

namespace {

std::string words_of(const std::exception_ptr& thrown, const std::string& who) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    const std::string said = known.what();
    return said.empty() ? who + " failed without a word" : said;
  } catch (...) {
    return who + " threw something that is no exception";
  }
}

asio::awaitable<expected<std::string, error>> begun(const any_handler& code, tool_context& context,
                                                    const llm::tool_arguments& arguments) {
  if (const auto* plain = std::get_if<plain_handler>(&code)) return (*plain)(arguments);
  return std::get<tool_handler>(code)(context, arguments);
}

tool_outcome outcome_of(const error& why) {
  if (why.is(errc::deadline_exceeded)) return tool_outcome::timed_out;
  if (why.is(errc::cancelled)) return tool_outcome::cancelled;
  return tool_outcome::refused;
}

}  // namespace

asio::awaitable<void> tool_turn::ask(std::shared_ptr<tool_turn> self, std::size_t which) {
  call& what = self->calls_[which];
  const llm::tool_call& made = what.result.call;
  std::optional<std::string> refusal;
  std::string asked = "the hook before the call";
  try {
    if (self->hooks_.before) {
      auto asking = self->hooks_.before(self->scope_.get(), made);
      auto answer = co_await std::move(asking);
      if (!answer) refusal = answer.error().message();
      if (refusal && refusal->empty()) refusal = asked + " refused it without a word";
    }
    if (!refusal && what.tool->limits.needs_approval && self->is_wanted(what)) {
      asked = "the approval of the call";
      auto asking = self->hooks_.approve(self->scope_.get(), made);
      if (!co_await std::move(asking)) refusal = "the call of tool \"" + what.tool->name + "\" was not approved";
    }
  } catch (...) {
    refusal = words_of(std::current_exception(), asked);
  }
  stop why = self->stopped(what);
  if (why == stop::no && self->run_->cancelled()) why = stop::cancelled;
  if (why != stop::no) {
    write_stopped(what, why);
  } else if (refusal) {
    write(what, tool_outcome::refused, *std::move(refusal));
  } else {
    const std::lock_guard lock(self->mutex_);
    if (what.stopped == stop::no && self->stopping_ == stop::no) {
      what.at = phase::ready;
      std::erase(self->active_, which);
      self->ready_.push_back(which);
      co_return;
    }
    write_stopped(what, what.stopped != stop::no ? what.stopped : self->stopping_);
  }
  self->conclude(which);
}

asio::awaitable<void> tool_turn::lane(std::shared_ptr<tool_turn> self, std::size_t number) {
  for (;;) {
    const auto which = self->take_up(number);
    if (!which) break;
    call& what = self->calls_[*which];
    try {
      co_await perform(*self, what);
    } catch (...) {
      write(what, tool_outcome::failed, words_of(std::current_exception(), "the tool"));
    }
    if (!self->put_down(*which)) break;
  }
}

std::optional<std::size_t> tool_turn::take_up(std::size_t task) {
  std::unique_lock lock(mutex_);
  const auto next = stopping_ != stop::no || run_->cancelled() ? ready_.end() : next_ready();
  if (next == ready_.end()) {
    lock.unlock();
    drop_unit();
    return std::nullopt;
  }
  if (!have_unit()) return std::nullopt;
  has_unit_ = false;
  const std::size_t which = *next;
  ready_.erase(next);
  active_.push_back(which);
  call& what = calls_[which];
  what.at = phase::taken;
  what.task = task;
  what.until = deadline_;
  what.unit = std::exchange(next_unit_, nullptr);
  if (what.tool->is_limited()) ++taken_of(*what.tool);
  return which;
}

bool tool_turn::put_down(std::size_t which) {
  call& what = calls_[which];
  what.scope.reset();
  std::shared_ptr<fan_out::unit> unit;
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    unit = std::move(what.unit);
    what.run.reset();
    if (what.tool->is_limited() && what.at != phase::done) --taken_of(*what.tool);
    goes_on = what.stopped == stop::no;
    if (!goes_on && what.at != phase::done) write_stopped(what, what.stopped);
  }
  // First, so that the next call may have it.
  if (unit) unit->give_back();
  conclude(which);
  return goes_on;
}

void tool_turn::keep_place(call& what, const std::shared_ptr<tool_place>& place) {
  const std::lock_guard lock(mutex_);
  what.place = place;
}

bool tool_turn::open_run(call& what) {
  const auto refuse = [&what](const error& why) {
    write(what, outcome_of(why), why.message());
    return false;
  };
  run_settings how(what.tool->run_name);
  how.width = run_->width();
  how.workload = what.tool->limits.workload;
  auto opened = run_->open_child(std::move(how), true);
  if (!opened) return refuse(opened.error());
  what.scope.emplace(run_state::scope_of(*opened));
  const std::lock_guard lock(mutex_);
  what.run = *std::move(opened);
  return true;
}

bool tool_turn::begin(call& what) {
  const tool_limits& limits = what.tool->limits;
  const instant now = run_->gate().now();
  const instant until = limits.timeout > duration::zero() ? std::min(deadline_, after(now, limits.timeout)) : deadline_;
  {
    const std::lock_guard lock(mutex_);
    if (what.stopped != stop::no) return false;
    what.until = until;
    if (what.run) what.run->serve_call(what.unit, until);
  }
  spending price;
  price.tool_calls = 1;
  price.money = limits.money;
  run_state& pays = what.scope ? *run_state::of(*what.scope) : *run_;
  if (auto paid = pays.charge(price); !paid) {
    write(what, outcome_of(paid.error()), paid.error().message());
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    what.result.began = now;
  }
  tasks_->notify();
  if (hooks_.started) {
    const std::lock_guard lock(telling_);
    try {
      hooks_.started(what.result.call);
    } catch (...) {
      // It only watches.
    }
  }
  return true;
}

void tool_turn::take_answer(call& what, expected<std::string, error> answer) {
  what.result.ran = run_->gate().now() - what.result.began;
  if (answer) {
    write(what, tool_outcome::answered, *std::move(answer));
  } else if (run_->cancelled()) {
    write_stopped(what, stop::cancelled);
  } else {
    std::string said = answer.error().message();
    write(what, tool_outcome::failed, said.empty() ? "the tool failed without a word" : std::move(said));
  }
}

asio::awaitable<void> tool_turn::perform(tool_turn& self, call& what) {
  registered_tool& tool = *what.tool;
  if (tool.has_runs() && !self.open_run(what)) co_return;
  std::shared_ptr<tool_place> place;
  if (tool.is_limited()) {
    // While it waits, others of the turn may begin.
    self.tasks_->notify();
    auto admitted = co_await tool.places(self.tools_->gate()).admit(*what.scope);
    if (!admitted) {
      if (self.run_->gate().now() >= self.deadline_) {
        write_stopped(what, stop::run_time);
      } else {
        write(what, outcome_of(admitted.error()), admitted.error().message());
      }
      co_return;
    }
    place = *std::move(admitted);
    self.keep_place(what, place);
  }
  if (!self.begin(what)) co_return;

  // They have passed the tool's schema.
  const auto arguments = llm::tool_arguments::of_object(given_arguments(what.result.call));
  tool_context context{what.scope ? *what.scope : self.scope_.get(), what.result.call};
  try {
    auto running = begun(tool.handler, context, arguments);
    auto answer = co_await std::move(running);
    self.take_answer(what, std::move(answer));
  } catch (...) {
    self.take_answer(what, unexpected<error>(error(errc::cancelled, words_of(std::current_exception(), "the tool"))));
  }
  place.reset();
  const auto run = what.scope ? run_state::of(*what.scope) : nullptr;
  if (run && run->tasks() != 0) {
    // Also when it was cancelled.
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await run_state::leave(run);
    co_await asio::this_coro::throw_if_cancelled(true);
  }
  if (self.hooks_.after && self.is_wanted(what)) co_await look_at(self, what);
  cut(what.result.text, tool.limits.max_result);
}

asio::awaitable<void> tool_turn::look_at(tool_turn& self, call& what) {
  // What it changes is its own: which call it was stays, and is read when this one is abandoned.
  tool_result seen(what.result.call);
  seen.outcome = what.result.outcome;
  seen.text = std::move(what.result.text);
  seen.began = what.result.began;
  seen.ran = what.result.ran;
  try {
    auto looking = self.hooks_.after(self.scope_.get(), seen);
    co_await std::move(looking);
  } catch (...) {
    // What it has changed stands.
  }
  write(what, seen.outcome, std::move(seen.text));
}

}  // namespace sluice::agent::detail
