#include "runtime/gate_aftermath.hpp"

#include <utility>
#include <vector>

// How outcomes reach their waiters, and what becomes of them when an executor's context goes away.
namespace sluice::detail {
namespace {

/// Waiters invoked, or listeners called, in one turn of the home executor; then others get theirs.
constexpr std::size_t turn_length = 64;

}  // namespace

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

void gate::start_telling(aftermath& left) noexcept {
  if (telling_ || home_context_ == nullptr) return;
  telling_ = true;
  left.start_telling();
}

void gate::tell_listeners() {
  for (std::size_t told = 0; told < turn_length; ++told) {
    std::optional<budget_listeners::message> next;
    {
      const std::lock_guard lock(mutex_);
      next = listeners_.next();
    }
    if (!next) return;
    try {
      (*next->to)(next->percent);
    } catch (...) {  // It has nobody to tell.
    }
  }
}

void gate::end_telling() noexcept {
  aftermath left(*this);
  {
    const std::lock_guard lock(mutex_);
    telling_ = false;
    if (listeners_.anything_untold()) start_telling(left);
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
  std::vector<std::shared_ptr<stoppable>> stops;
  budget_listeners::all listeners;
  std::optional<asio::any_io_executor> work;
  asio::any_io_executor home_executor;
  aftermath left(*this);
  {
    std::unique_lock lock(mutex_);
    if (claimed_) return;
    ++busy_;
    home = &context == home_context_;
    if (home) {
      listeners = listeners_.remove_all();
      watched_ = recording_ != nullptr;
    }
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
      if (stop != nullptr && stop->context() == &context) stops.push_back(std::move(stop));
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

}  // namespace sluice::detail
