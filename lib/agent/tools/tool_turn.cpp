#include "agent/tools/tool_turn.hpp"

#include "agent/runs/run_state.hpp"
#include "agent/tools/tool_words.hpp"

#include <asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace sluice::agent::detail {

namespace {

// How long a handler has to stop once it was told to.
constexpr duration patience = std::chrono::seconds(1);

}  // namespace

lent_scope::lent_scope(const std::shared_ptr<run_state>& run) : scope_(run_state::scope_of(run)) {}
// A scope without a state closes nothing.
lent_scope::~lent_scope() { const_cast<std::shared_ptr<run_state>&>(run_state::of(scope_)).reset(); }

tool_turn::tool_turn(std::shared_ptr<tool_registry> tools, run_scope& run, std::vector<llm::tool_call> calls,
                     const tool_hooks& hooks)
    : batch(run_state::of(run)->handlers(), run_state::of(run)->handler_unit()),
      tools_(std::move(tools)),
      run_(run_state::of(run)),
      scope_(run_),
      hooks_(hooks),
      tasks_(task_set::make(run)),
      deadline_(run_->working_deadline()) {
  calls_.reserve(calls.size());
  for (llm::tool_call& each : calls) calls_.emplace_back(std::move(each));
  open_ = calls_.size();
}

tool_turn::~tool_turn() { drop_unit(); }

asio::awaitable<std::vector<tool_result>> tool_turn::carry_out(std::shared_ptr<tool_turn> self) {
  tool_turn& turn = *self;
  // A caller that does not come back leaves nothing running.
  const struct on_exit {
    tool_turn& of;
    ~on_exit() { of.end(); }
  } leaving{turn};

  // A caller that is cancelled has to wait for its calls to stop.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  turn.check();
  while (!turn.all_done()) {
    turn.start_lane();
    const auto why = co_await turn.tasks_->changed(turn.next_limit(), false);
    const instant now = turn.run_->gate().now();
    if (why == task_set::change::cancelled || turn.run_->cancelled()) turn.stop_all(stop::cancelled, now);
    turn.watch_time(now);
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return turn.results();
}

void tool_turn::check() {
  const instant now = run_->gate().now();
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    call& each = calls_[i];
    each.tool = tools_->find(each.result.call.name);
    if (run_->cancelled()) {
      write_stopped(each, stop::cancelled);
    } else if (now >= deadline_) {
      write_stopped(each, stop::run_time);
    } else if (auto why = tools_->refuse(each.tool, each.result.call, *run_)) {
      write(each, why->outcome, std::move(why->text));
    } else if (each.tool->limits.needs_approval && !hooks_.approve) {
      write(each, tool_outcome::refused,
            "tool \"" + each.tool->name + "\" needs an approval, and there is nobody to give it");
    } else if (hooks_.before || each.tool->limits.needs_approval) {
      {
        const std::lock_guard lock(mutex_);
        each.at = phase::asking;
        each.until = deadline_;
        each.task = tasks_->started();
        active_.push_back(i);
      }
      if (tasks_->start(ask(shared_from_this(), i))) continue;
      write_stopped(each, stop::cancelled);
    } else {
      const std::lock_guard lock(mutex_);
      ready_.push_back(i);
      continue;
    }
    conclude(i);
  }
}

void tool_turn::start_lane() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ != stop::no || no_room_.load(std::memory_order_acquire)) return;
    if (next_ready() == ready_.end() || !have_unit()) return;
  }
  // When it is not taken, the run was cancelled, and says so.
  if (!tasks_->start(lane(shared_from_this(), tasks_->started()), task_set::begin::at_once))
    stop_all(stop::cancelled, run_->gate().now());
}

bool tool_turn::all_done() const {
  const std::lock_guard lock(mutex_);
  return open_ == 0;
}

instant tool_turn::next_limit() const {
  const std::lock_guard lock(mutex_);
  instant first = ready_.empty() ? never : deadline_;
  for (const std::size_t which : active_) first = std::min(first, calls_[which].until);
  return first;
}

void tool_turn::watch_time(instant now) {
  if (now >= deadline_) stop_all(stop::run_time, now);
  std::vector<std::size_t> late;
  {
    const std::lock_guard lock(mutex_);
    for (const std::size_t which : active_) {
      if (now >= calls_[which].until) late.push_back(which);
    }
  }
  for (const std::size_t which : late) {
    if (stopped(calls_[which]) == stop::no) {
      stop_one(which, stop::tool_time, now);
    } else {
      abandon(which);
    }
  }
}

void tool_turn::stop_all(stop why, instant now) {
  std::deque<std::size_t> waiting;
  std::vector<std::size_t> active;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ != stop::no) return;
    stopping_ = why;
    waiting.swap(ready_);
    active = active_;
  }
  drop_unit();
  for (const std::size_t which : active) stop_one(which, why, now);
  for (const std::size_t which : waiting) {
    write_stopped(calls_[which], why);
    conclude(which);
  }
}

void tool_turn::stop_one(std::size_t which, stop why, instant now) {
  std::shared_ptr<run_state> run;
  std::size_t task = 0;
  {
    const std::lock_guard lock(mutex_);
    call& what = calls_[which];
    if (what.at == phase::done || what.stopped != stop::no) return;
    what.stopped = why;
    what.until = after(now, patience);
    run = what.run;
    task = what.task;
  }
  if (run) run->stop();
  tasks_->cancel(task);
}

void tool_turn::abandon(std::size_t which) {
  std::shared_ptr<run_state> run;
  std::shared_ptr<fan_out::unit> unit;
  std::shared_ptr<tool_place> place;
  call& what = calls_[which];
  {
    const std::lock_guard lock(mutex_);
    if (what.at == phase::done) return;
    if (what.at == phase::taken && what.tool->is_limited()) --taken_of(*what.tool);
    what.at = phase::done;
    std::erase(active_, which);
    run = std::move(what.run);
    unit = std::move(what.unit);
    place = what.place.lock();
    what.instead = std::make_unique<tool_result>(what.result.call);
    what.instead->began = what.result.began;
  }
  // It can spend nothing any more, and counts for nobody.
  if (run) run->close();
  if (unit) unit->give_back();
  if (place) place->abandon(what.until - patience);
  tool_result& told = *what.instead;
  told.outcome = what.stopped == stop::cancelled ? tool_outcome::cancelled : tool_outcome::timed_out;
  told.text = stop_words(what, what.stopped) + "; it has not stopped, and goes on for nobody";
  if (told.began != never) told.ran = run_->gate().now() - told.began;
  tell_finished(told);
  const std::lock_guard lock(mutex_);
  --open_;
}

std::vector<tool_result> tool_turn::results() {
  const std::lock_guard lock(mutex_);
  std::vector<tool_result> all;
  all.reserve(calls_.size());
  for (call& each : calls_) all.push_back(each.instead ? std::move(*each.instead) : std::move(each.result));
  return all;
}

void tool_turn::end() noexcept {
  bool done = false;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    done = open_ == 0;
    if (stopping_ == stop::no) stopping_ = stop::cancelled;
    for (const std::size_t which : active_) {
      if (calls_[which].stopped == stop::no) calls_[which].stopped = stop::cancelled;
    }
  }
  drop_unit();
  if (!done) tasks_->cancel_all();
}

bool tool_turn::have_unit() {
  if (has_unit_) return true;
  if (!next_unit_) next_unit_ = std::make_shared<fan_out::unit>();
  // Before it is asked for: there may be room the moment after.
  no_room_.store(true, std::memory_order_release);
  if (!take(*next_unit_)) return false;
  no_room_.store(false, std::memory_order_release);
  return has_unit_ = true;
}

void tool_turn::drop_unit() noexcept {
  rest();
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_unit_, false)) next_unit_->give_back();
  no_room_.store(false, std::memory_order_release);
}

std::deque<std::size_t>::iterator tool_turn::next_ready() {
  return std::find_if(ready_.begin(), ready_.end(), [this](std::size_t which) {
    const registered_tool& tool = *calls_[which].tool;
    return !tool.is_limited() || taken_of(tool) < tool.limits.concurrency;
  });
}

std::int64_t& tool_turn::taken_of(const registered_tool& tool) {
  const auto found = std::find_if(taken_.begin(), taken_.end(), [&](const auto& each) { return each.first == &tool; });
  return found != taken_.end() ? found->second : taken_.emplace_back(&tool, 0).second;
}

tool_turn::stop tool_turn::stopped(const call& what) const {
  const std::lock_guard lock(mutex_);
  return what.stopped;
}

bool tool_turn::is_wanted(const call& what) const {
  const std::lock_guard lock(mutex_);
  return what.stopped == stop::no && what.at != phase::done && stopping_ == stop::no;
}

void tool_turn::conclude(std::size_t which) {
  call& what = calls_[which];
  bool unheard = false;
  {
    const std::lock_guard lock(mutex_);
    if (what.at == phase::done) return;
    what.at = phase::done;
    std::erase(active_, which);
    unheard = over_;
  }
  if (!unheard) tell_finished(what.result);
  const std::lock_guard lock(mutex_);
  --open_;
}

void tool_turn::write(call& what, tool_outcome outcome, std::string text) {
  what.result.outcome = outcome;
  what.result.text = std::move(text);
}

std::string tool_turn::stop_words(const call& what, stop why) {
  switch (why) {
    case stop::tool_time:
      return "tool \"" + what.tool->name + "\" was stopped after " + time_limit(what.tool->limits.timeout) +
             ", its time limit";
    case stop::run_time: return "the time of the run was up before the call had ended";
    case stop::cancelled:
    case stop::no: break;
  }
  return "the call was cancelled before it had ended";
}

void tool_turn::write_stopped(call& what, stop why) {
  write(what, why == stop::cancelled ? tool_outcome::cancelled : tool_outcome::timed_out, stop_words(what, why));
}

void tool_turn::tell_finished(const tool_result& what) noexcept {
  if (!hooks_.finished) return;
  const std::lock_guard lock(telling_);
  try {
    hooks_.finished(what);
  } catch (...) {
    // It only watches.
  }
}

void tool_turn::room() noexcept {
  no_room_.store(false, std::memory_order_release);
  tasks_->notify();
}

}  // namespace sluice::agent::detail
