#include "runtime/gate.hpp"

#include <asio/execution/outstanding_work.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::detail {
namespace {

/// Waiters invoked in one turn of the home executor; then others get theirs.
constexpr std::size_t turn_length = 64;

// A waiter and whether it lives abroad, in one word: what is granted to it is then told without waiting for its memory.
std::uint64_t tag_of(waiter& who) noexcept {
  return reinterpret_cast<std::uintptr_t>(&who) | (who.context() != nullptr ? 1U : 0U);
}
waiter& waiter_of(std::uint64_t tag) noexcept { return *reinterpret_cast<waiter*>(tag & ~std::uint64_t{1}); }
bool is_abroad(std::uint64_t tag) noexcept { return (tag & 1U) != 0; }

/// More than `time_source::recent` may lag behind `now`.
constexpr duration largest_lag = std::chrono::milliseconds(20);

}  // namespace

/// On its way through the home executor, which may destroy it unrun.
class gate::drain_turn {
 public:
  explicit drain_turn(gate& owner) noexcept : gate_(&owner) {}
  drain_turn(drain_turn&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
  drain_turn(const drain_turn&) = delete;
  drain_turn& operator=(const drain_turn&) = delete;
  drain_turn& operator=(drain_turn&&) = delete;
  ~drain_turn() {
    if (gate_ != nullptr) gate_->take_turn_back(nullptr, nullptr, 0);
  }
  void operator()() { std::exchange(gate_, nullptr)->run_ready(); }

 private:
  gate* gate_;
};

/// Whatever may run other code, or take another lock, happens here: when the gate's mutex is free.
class gate::aftermath {
 public:
  explicit aftermath(gate& owner) noexcept : gate_(owner) {}
  aftermath(const aftermath&) = delete;
  aftermath& operator=(const aftermath&) = delete;

  // The following, under the mutex. What is posted to an executor keeps the executor's context from going away meanwhile.
  void add(waiter& abroad) noexcept {
    pin();
    abroad.next = nullptr;
    *abroad_end_ = &abroad;
    abroad_end_ = &abroad.next;
  }
  void add(std::shared_ptr<stop_source> stop) {
    pin();
    stops_.push_back(std::move(stop));
  }
  void add_all(std::vector<std::shared_ptr<idle_observer>>& idle) noexcept {
    pin();
    idle_.swap(idle);
  }
  void start_turn() noexcept {
    pin();
    turn_ = true;
  }
  void check_unused() noexcept { destroy_ = gate_.claim_if_unused(); }

  /// Call it last, without the mutex; the gate may be gone afterwards.
  void carry_out() {
    if (destroy_) {
      delete &gate_;
      return;
    }
    if (!pinned_) return;
    if (turn_) asio::post(gate_.home_, drain_turn(gate_));
    while (abroad_ != nullptr) std::exchange(abroad_, abroad_->next)->act(waiter::action::dispatch);
    for (const auto& stop : stops_) stop->preempt();
    for (const auto& observer : idle_) observer->became_idle();
    // While their contexts still have to wait.
    stops_.clear();
    idle_.clear();
    unpin();
  }

 private:
  void pin() noexcept {
    if (std::exchange(pinned_, true)) return;
    epoch_ = gate_.epoch_ & 1U;
    ++gate_.posting_[epoch_];
  }

  void unpin() noexcept {
    {
      const std::lock_guard lock(gate_.mutex_);
      if (--gate_.posting_[epoch_] == 0) gate_.posted_.notify_all();
      destroy_ = gate_.claim_if_unused();
    }
    if (destroy_) delete &gate_;
  }

  gate& gate_;
  waiter* abroad_ = nullptr;
  waiter** abroad_end_ = &abroad_;
  std::size_t epoch_ = 0;
  bool pinned_ = false;
  bool turn_ = false;
  bool destroy_ = false;
  std::vector<std::shared_ptr<stop_source>> stops_;
  std::vector<std::shared_ptr<idle_observer>> idle_;
};

gate::gate(asio::any_io_executor home, const policy& rules, time_source* time)
    : core_(rules),
      home_(std::move(home)),
      home_context_(&asio::query(home_, asio::execution::context)),
      own_time_(time == nullptr ? make_steady_time_source(home_) : nullptr),
      time_(time == nullptr ? own_time_.get() : time) {
  watches_.emplace_back(*this, *home_context_);
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
  aftermath left(*gone);
  {
    const std::lock_guard lock(gone->mutex_);
    gone->alive_ = false;
    --gone->busy_;
    left.check_unused();
  }
  left.carry_out();
}

instant gate::clock() const noexcept {
  return core_.waiting() == 0 || time_ == nullptr ? core_.now() : time_->recent();
}

bool gate::claim_if_unused() noexcept {
  if (alive_ || claimed_ || draining_ || busy_ != 0 || undelivered_ != 0 || core_.in_flight() != 0) return false;
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
        if (auto& stop = stops_[each.id.index]) left.add(stop);
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
  const instant now = what.deadline == never ? instant::min() : time_->now();
  const std::lock_guard lock(mutex_);
  return core_.enter(what, now);
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
  if (!crowded_.load(std::memory_order_relaxed) && alive_ && idle_observers_.empty()) {
    core_.finish(id, how, used, instant::min(), effects_);
    return;
  }
  finish_among_others(std::move(lock), id, how, used);
}

// Here, so that the end of a permit costs no further call.
void finish(gate& where, core::request_id id, bool stopped, const std::optional<usage>& used) noexcept {
  where.finish(id, stopped ? core::ending::preempted : core::ending::released, used);
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
  decision closed;
  closed.outcome = outcome::rejected;
  closed.reason = reason::closed;
  closed.workload = what.workload;
  closed.revision = core_.current_policy().revision;
  closed.asked = what.cost;
  closed.deadline = what.deadline;
  closed.at = core_.now();
  return refusal(closed);
}

void gate::begin_guard(core::request_id id, const std::shared_ptr<stop_source>& stop) {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    watch_context(stop->context());
    if (stops_.size() <= id.index) stops_.resize(std::size_t{id.index} + 1);
    stops_[id.index] = stop;
    ++busy_;
    core_.set_stoppable(id, true, clock(), effects_);
    apply(left);
  }
  left.carry_out();
}

void gate::end_guard(core::request_id id, const stop_source& stop) noexcept {
  std::shared_ptr<stop_source> gone;
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    // The permit may have ended under guard, and its place may be another's by now.
    if (stops_[id.index].get() == &stop) gone.swap(stops_[id.index]);
    core_.set_stoppable(id, false, clock(), effects_);
    apply(left);
    --busy_;
    left.check_unused();
  }
  left.carry_out();
}

bool gate::could_be_preempted(core::request_id id) const noexcept {
  const std::lock_guard lock(mutex_);
  return core_.could_be_preempted(id);
}

void gate::delivered() noexcept {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    --undelivered_;
    left.check_unused();
  }
  left.carry_out();
}

// Takes all that is ready and gives back what is too much for a turn: to look for the last of a turn would wait for the
// memory of each. What becomes ready meanwhile has its turn now, too: another costs a look at every descriptor.
void gate::run_ready() {
  waiter* rest = nullptr;
  waiter* last = nullptr;
  std::size_t delivered = 0;
  // Also when a handler throws.
  struct on_exit {
    gate& owner;
    waiter*& rest;
    waiter*& last;
    std::size_t& count;
    ~on_exit() { owner.take_turn_back(rest, last, count); }
  } const at_end{*this, rest, last, delivered};
  while (delivered < turn_length) {
    {
      const std::lock_guard lock(mutex_);
      rest = std::exchange(ready_first_, nullptr);
      last = std::exchange(ready_last_, nullptr);
    }
    if (rest == nullptr) return;
    while (rest != nullptr && delivered < turn_length) {
      waiter& who = *std::exchange(rest, rest->next);
      if (rest != nullptr) {
        // Its own memory was asked for a step ago.
        rest->act(waiter::action::approach);
        if (rest->next != nullptr) rest->next->prefetch();
      }
      ++delivered;
      who.act(waiter::action::invoke);
    }
  }
}

void gate::take_turn_back(waiter* rest, waiter* last, std::size_t delivered) noexcept {
  aftermath left(*this);
  std::optional<asio::any_io_executor> released;
  {
    const std::lock_guard lock(mutex_);
    at_home_ -= delivered;
    undelivered_ -= delivered;
    if (rest != nullptr) {
      last->next = ready_first_;
      if (ready_first_ == nullptr) ready_last_ = last;
      ready_first_ = rest;
    }
    draining_ = ready_first_ != nullptr && home_context_ != nullptr;
    if (draining_) left.start_turn();
    if (at_home_ == 0) released.swap(home_work_);
    left.check_unused();
  }
  left.carry_out();
}

void gate::watch_context(asio::execution_context& context) {
  for (const watch& each : watches_) {
    if (&each.context() == &context) return;
  }
  watches_.emplace_back(*this, context);
}

// The context destroys what was posted to it by itself; what is parked here has to be let go here.
void gate::context_gone(asio::execution_context& context) noexcept {
  waiter* dropped = nullptr;
  std::size_t count = 0;
  bool home = false;
  std::vector<std::shared_ptr<stop_source>> stops;
  std::optional<asio::any_io_executor> work;
  asio::any_io_executor home_executor;
  aftermath left(*this);
  {
    std::unique_lock lock(mutex_);
    if (claimed_) return;
    ++busy_;
    home = &context == home_context_;
    const auto here = [&](const waiter& who) {
      return who.context() == &context || (home && who.context() == nullptr);
    };
    const auto drop = [&](waiter& who) {
      who.next = std::exchange(dropped, &who);
      ++count;
    };
    std::vector<waiter*> parked;
    for (const std::uint64_t tag : core_.waiting_tags()) {
      waiter& who = waiter_of(tag);
      if (here(who)) parked.push_back(&who);
    }
    const instant now = clock();
    for (waiter* who : parked) {
      // One that the cancellation of another has let in, or that is too late, goes the way of its outcome.
      if (core_.cancel(who->id, now, effects_)) drop(*who);
    }
    apply(left);
    if (home) {
      while (ready_first_ != nullptr) drop(*std::exchange(ready_first_, ready_first_->next));
      ready_last_ = nullptr;
      home_context_ = nullptr;
      at_home_ = 0;
    }
    for (auto& stop : stops_) {
      if (stop != nullptr && &stop->context() == &context) stops.push_back(std::move(stop));
    }
    std::erase_if(idle_observers_, [&](const auto& each) { return &each->context() == &context; });
    note_idle(left);
  }
  left.carry_out();
  stops.clear();
  while (dropped != nullptr) std::exchange(dropped, dropped->next)->act(waiter::action::drop);
  aftermath ending(*this);
  {
    std::unique_lock lock(mutex_);
    let_posts_end(lock);
    if (home) {
      work.swap(home_work_);
      // Its destructor may need the context.
      home_executor = std::exchange(home_, asio::any_io_executor());
    }
    --busy_;
    undelivered_ -= count;
    ending.check_unused();
    if (!claimed_) watches_.remove_if([&](const watch& each) { return &each.context() == &context; });
  }
  ending.carry_out();
}

void gate::let_posts_end(std::unique_lock<brief_mutex>& lock) noexcept {
  const std::size_t before = epoch_++ & 1U;
  posted_.wait(lock, [&] { return posting_[before] == 0; });
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
