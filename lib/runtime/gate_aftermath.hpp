/// \file
/// What an event of the gate leaves to be done once its mutex is free, and how waiters are named to the core.
#pragma once

#include "runtime/gate.hpp"

#include <asio/post.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::detail {

// A waiter and whether it lives abroad, in one word: what is granted to it is then told without waiting for its memory.
inline std::uint64_t tag_of(waiter& who) noexcept {
  return reinterpret_cast<std::uintptr_t>(&who) | (who.context() != nullptr ? 1U : 0U);
}
inline waiter& waiter_of(std::uint64_t tag) noexcept { return *reinterpret_cast<waiter*>(tag & ~std::uint64_t{1}); }
inline bool is_abroad(std::uint64_t tag) noexcept { return (tag & 1U) != 0; }

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

/// The same for those who listen to runs.
class gate::telling_turn {
 public:
  explicit telling_turn(gate& owner) noexcept : gate_(&owner) {}
  telling_turn(telling_turn&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
  telling_turn(const telling_turn&) = delete;
  telling_turn& operator=(const telling_turn&) = delete;
  telling_turn& operator=(telling_turn&&) = delete;
  ~telling_turn() {
    if (gate_ != nullptr) gate_->end_telling();
  }
  void operator()() { gate_->tell_listeners(); }

 private:
  gate* gate_;
};

/// Whatever may run other code, or take another lock, happens here: when the gate's mutex is free.
class gate::aftermath {
 public:
  explicit aftermath(gate& owner) noexcept : gate_(owner) {}
  aftermath(const aftermath&) = delete;
  aftermath& operator=(const aftermath&) = delete;

  // The following, under the mutex. What is posted to an executor keeps the executor's context from going away
  // meanwhile.
  void add(waiter& abroad) noexcept {
    pin();
    abroad.next = nullptr;
    *abroad_end_ = &abroad;
    abroad_end_ = &abroad.next;
  }
  void add(std::shared_ptr<stoppable> stop, stop_cause why) {
    pin();
    stops_.emplace_back(std::move(stop), why);
  }
  void add_all(std::vector<std::shared_ptr<idle_observer>>& idle) noexcept {
    pin();
    idle_.swap(idle);
  }
  void start_turn() noexcept {
    pin();
    turn_ = true;
  }
  void start_telling() noexcept {
    pin();
    telling_ = true;
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
    if (telling_) asio::post(gate_.home_, telling_turn(gate_));
    while (abroad_ != nullptr) std::exchange(abroad_, abroad_->next)->act(waiter::action::dispatch);
    for (const auto& [stop, why] : stops_) stop->stop(why);
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
  bool telling_ = false;
  bool destroy_ = false;
  std::vector<std::pair<std::shared_ptr<stoppable>, stop_cause>> stops_;
  std::vector<std::shared_ptr<idle_observer>> idle_;
};

}  // namespace sluice::detail
