#include "runtime/gate_aftermath.hpp"

#include <asio/execution/outstanding_work.hpp>
#include <asio/prefer.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::detail {
namespace {

/// More than `time_source::recent` may lag behind `now`.
constexpr duration largest_lag = std::chrono::milliseconds(20);

}  // namespace

gate::gate(asio::any_io_executor home, const policy& rules, time_source* time)
    : core_(rules),
      home_(std::move(home)),
      home_context_(&asio::query(home_, asio::execution::context)),
      own_time_(time == nullptr ? make_steady_time_source(home_) : nullptr),
      time_(time == nullptr ? own_time_.get() : time) {
  watches_.emplace_back(*this, *home_context_);
  needs_time_.store(core_.needs_time(), std::memory_order_relaxed);
}

void gate::abandon(gate* gone) {
  gone->close();
  // Outside the mutex, because it waits for a tick that may be running.
  gone->time_->disarm(gone->wake_);
  aftermath drains(*gone);
  {
    const std::lock_guard lock(gone->mutex_);
    ++gone->busy_;
    drains.add_all(gone->idle_observers_);
  }
  drains.carry_out();
  {
    std::unique_lock lock(gone->mutex_);
    // They may have drains to tell, which then still leave the time source.
    gone->let_posts_end(lock);
    gone->time_ = nullptr;
  }
  gone->own_time_.reset();
  budget_listeners::all listeners;
  aftermath left(*gone);
  {
    const std::lock_guard lock(gone->mutex_);
    listeners = gone->listeners_.remove_all();
    gone->alive_ = false;
    --gone->busy_;
    left.check_unused();
  }
  left.carry_out();
}

instant gate::clock() const noexcept {
  if (recording_ != nullptr && time_ != nullptr) return time_->now();
  const bool matters = core_.waiting() != 0 || needs_time_.load(std::memory_order_relaxed);
  return matters && time_ != nullptr ? time_->recent() : core_.now();
}

bool gate::claim_if_unused() noexcept {
  if (alive_ || claimed_ || draining_ || telling_ || busy_ != 0 || undelivered_ != 0 || core_.in_flight() != 0)
    return false;
  return claimed_ = posting_[0] == 0 && posting_[1] == 0;
}

rejection gate::refusal(const decision& what) const {
  const auto& classes = core_.current_policy().classes;
  const std::size_t c = what.workload.index();
  return rejection(what, c < classes.size() ? classes[c].name : '#' + std::to_string(c));
}

void gate::hand_over(waiter& who, bool abroad, aftermath& left) {
  if (abroad) {
    left.add(who);
    return;
  }
  who.next = nullptr;
  (ready_last_ == nullptr ? ready_first_ : ready_last_->next) = &who;
  ready_last_ = &who;
  if (draining_) return;
  draining_ = true;
  left.start_turn();
}

void gate::apply(aftermath& left) {
  for (const core::effect& each : effects_.list) {
    switch (each.what) {
      case core::effect::kind::granted:
      case core::effect::kind::rejected: {
        if (each.tag == 0) break;
        waiter& who = waiter_of(each.tag);
        if (each.what == core::effect::kind::granted) {
          who.grant(each.id);
        } else {
          who.refuse(refusal(effects_.decisions[each.detail]));
        }
        hand_over(who, is_abroad(each.tag), left);
        break;
      }
      case core::effect::kind::preempt:
        if (auto& stop = stops_[each.id.index]) left.add(stop, stop_cause::preempted);
        break;
      case core::effect::kind::stop:
        if (each.id.index >= stops_.size()) break;
        if (auto& stop = stops_[each.id.index]) left.add(stop, stop_cause::run_closed);
        break;
      case core::effect::kind::budget_threshold:
        if (listeners_.note(each.run(), each.detail)) start_telling(left);
        break;
      case core::effect::kind::wake_at:
        if (time_ != nullptr) time_->arm(wake_, each.at);
        break;
    }
  }
  effects_.clear();
  crowded_.store(core_.waiting() != 0, std::memory_order_relaxed);
}

void gate::note_idle(aftermath& left) {
  if (!idle_observers_.empty() && core_.in_flight() == 0 && core_.waiting() == 0) left.add_all(idle_observers_);
}

core::request_id gate::admit_at_once(const core::request& what) {
  if (crowded_.load(std::memory_order_relaxed)) return {};
  const bool exact = what.deadline != never || timed_.load(std::memory_order_relaxed);
  const bool roughly = needs_time_.load(std::memory_order_relaxed);
  const instant now = exact ? time_->now() : roughly ? time_->recent() : instant::min();
  core::request_id id;
  {
    const std::lock_guard lock(mutex_);
    id = core_.enter(what, now);
    if (what.run.generation == 0 || listeners_.empty() || !core_.thresholds_untold()) return id;
  }
  tell_untold();
  return id;
}

expected<core::request_id, rejection> gate::try_admit(core::request what) {
  what.may_wait = false;
  what.tag = 0;
  const instant now = time_->now();
  std::optional<core::request_id> granted;
  std::optional<rejection> refused;
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    core_.arrive(what, now, effects_);
    for (const core::effect& each : effects_.list) {
      if (each.tag != 0) continue;
      if (each.what == core::effect::kind::granted) granted = each.id;
      if (each.what == core::effect::kind::rejected) refused = refusal(effects_.decisions[each.detail]);
    }
    apply(left);
    note_idle(left);
  }
  left.carry_out();
  if (granted) return *granted;
  return unexpected<rejection>(std::move(*refused));
}

// The exact time is dear, and matters only to a deadline that is near.
instant gate::present_for(instant deadline) const noexcept {
  const instant recent = time_->recent();
  return deadline > after(recent, largest_lag) ? recent : time_->now();
}

void gate::enqueue(waiter& who, const core::request& what) {
  core::request tagged = what;
  tagged.tag = tag_of(who);
  const instant now = present_for(what.deadline);
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    ++undelivered_;
    if (who.context() != nullptr) {
      watch_context(*who.context());
    } else if (at_home_++ == 0 && !home_work_) {
      home_work_ = asio::prefer(home_, asio::execution::outstanding_work.tracked);
    }
    who.id = core_.arrive(tagged, now, effects_);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
}

void gate::cancel(waiter& who) noexcept {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    if (who.state() == waiter::phase::rejected) return;
    const instant now = clock();
    decision what = core_.explain(who.id).value_or(decision{});
    what.outcome = outcome::rejected;
    what.reason = reason::cancelled;
    what.at = now;
    if (who.state() == waiter::phase::waiting) {
      core_.cancel(who.id, now, effects_);
      hand_over(who, who.context() != nullptr, left);
    } else {
      // Granted, but nobody has been told yet: the capacity goes to the next. It is on its way already.
      core_.finish(who.id, core::ending::released, std::nullopt, now, effects_);
    }
    who.refuse(refusal(what));
    apply(left);
    note_idle(left);
  }
  left.carry_out();
}

void gate::finish(core::request_id id, core::ending how, const std::optional<usage>& used) noexcept {
  std::unique_lock lock(mutex_);
  // Nobody to tell: then there are no effects, and the time does not matter.
  if (!crowded_.load(std::memory_order_relaxed) && alive_ && idle_observers_.empty() && !watched_) {
    // Without usage nothing is learned from it, and the time does not matter either.
    const bool timed = used.has_value() && needs_time_.load(std::memory_order_relaxed);
    core_.finish(id, how, used, timed ? time_->recent() : instant::min(), effects_);
    return;
  }
  finish_among_others(std::move(lock), id, how, used);
}

// Here, so that the end of a permit costs no further call.
void finish(gate& where, core::request_id id, core::ending how, const std::optional<usage>& used) noexcept {
  where.finish(id, how, used);
}

void gate::finish_among_others(std::unique_lock<brief_mutex> lock, core::request_id id, core::ending how,
                               const std::optional<usage>& used) noexcept {
  aftermath left(*this);
  core_.finish(id, how, used, clock(), effects_);
  if (!effects_.list.empty()) apply(left);
  note_idle(left);
  left.check_unused();
  lock.unlock();
  left.carry_out();
}

expected<void, error> gate::report(core::request_id id, const progress& how_far) {
  aftermath left(*this);
  expected<void, error> result;
  {
    const std::lock_guard lock(mutex_);
    result = core_.report(id, how_far, clock(), effects_);
    apply(left);
  }
  left.carry_out();
  return result;
}

expected<void, error> gate::reconfigure(const policy& next) {
  aftermath left(*this);
  expected<void, error> result;
  const instant now = time_->now();
  {
    const std::lock_guard lock(mutex_);
    result = core_.reconfigure(next, now, effects_);
    needs_time_.store(core_.needs_time(), std::memory_order_relaxed);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
  return result;
}

void gate::close() {
  aftermath left(*this);
  const instant now = time_->now();
  {
    const std::lock_guard lock(mutex_);
    core_.close(now, effects_);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
}

void gate::tick(instant now) noexcept {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    core_.tick(now, effects_);
    apply(left);
    note_idle(left);
  }
  left.carry_out();
}

std::optional<rejection> gate::refuse_if_abandoned(const core::request& what) const {
  const std::lock_guard lock(mutex_);
  if (alive_) return std::nullopt;
  return refusal(what, reason::closed);
}

rejection gate::refuse_in_closed_run(const core::request& what) const {
  const std::lock_guard lock(mutex_);
  return refusal(what, reason::unknown_run);
}

rejection gate::refusal(const core::request& what, reason why) const {
  decision said;
  said.outcome = outcome::rejected;
  said.reason = why;
  said.workload = what.workload;
  said.revision = core_.current_policy().revision;
  said.asked = what.cost;
  said.deadline = what.deadline;
  said.at = core_.now();
  return refusal(said);
}

void gate::hold() noexcept {
  const std::lock_guard lock(mutex_);
  ++busy_;
}

void gate::let_go() noexcept {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    left.check_unused();
  }
  left.carry_out();
}

drain_result gate::observe_idle(std::shared_ptr<idle_observer> who) {
  const std::lock_guard lock(mutex_);
  drain_result now{false, core_.in_flight(), core_.waiting()};
  now.drained = now.in_flight == 0 && now.waiting == 0;
  if (!now.drained && who != nullptr) {
    watch_context(who->context());
    idle_observers_.push_back(std::move(who));
    ++busy_;
  }
  return now;
}

void gate::forget(const idle_observer& who) noexcept {
  std::shared_ptr<idle_observer> gone;
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    const auto place = std::ranges::find(idle_observers_, &who, &std::shared_ptr<idle_observer>::get);
    if (place != idle_observers_.end()) {
      gone = std::move(*place);
      idle_observers_.erase(place);
    }
    --busy_;
    left.check_unused();
  }
  left.carry_out();
}

statistics gate::take_statistics() const {
  const std::lock_guard lock(mutex_);
  return core_.statistics();
}

policy gate::current_policy() const {
  const std::lock_guard lock(mutex_);
  return core_.current_policy();
}

std::optional<decision> gate::explain(core::request_id id) const {
  const std::lock_guard lock(mutex_);
  return core_.explain(id);
}

std::optional<age> gate::age_of(core::request_id id) const {
  const std::lock_guard lock(mutex_);
  return core_.age_of(id);
}

}  // namespace sluice::detail
