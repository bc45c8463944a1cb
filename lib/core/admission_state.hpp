/// \file
/// The inside of the state machine: the rooms it is composed of, and the steps that its events share.
#pragma once

#include "core/ledger.hpp"
#include "core/saturating.hpp"
#include "core/stop_list.hpp"
#include "core/ticket.hpp"
#include "core/wait_queue.hpp"

#include <sluice/core/admission.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::core {

class admission::state {
 public:
  explicit state(policy initial);

  // The events, as `admission` documents them.
  request_id arrive(const request& what, instant now, effects& out);
  request_id enter(const request& what, instant now);
  bool cancel(request_id id, instant now, effects& out);
  void tick(instant now, effects& out);
  expected<void, error> report(request_id id, const progress& how_far, instant now, effects& out);
  void set_stoppable(request_id id, bool stoppable, instant now, effects& out);
  [[nodiscard]] bool could_be_preempted(request_id id) const noexcept;
  bool finish(request_id id, ending how, const std::optional<usage>& used, instant now, effects& out);
  expected<void, error> reconfigure(policy next, instant now, effects& out);
  void close(instant now, effects& out);

  [[nodiscard]] sluice::statistics statistics() const;
  [[nodiscard]] std::optional<decision> explain(request_id id) const;
  [[nodiscard]] std::optional<age> age_of(request_id id) const;
  [[nodiscard]] std::vector<std::uint64_t> waiting_tags() const;
  [[nodiscard]] std::optional<std::string> broken_invariant() const;

  [[nodiscard]] const policy& rules() const noexcept { return rules_; }
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return queue_.size(); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] instant now() const noexcept { return now_; }

 private:

  void advance(instant now) noexcept {
    if (now > now_) now_ = now;
  }
  [[nodiscard]] const ticket* find(request_id id) const noexcept;
  [[nodiscard]] bool is(request_id id, ticket::phase phase) const noexcept;
  [[nodiscard]] request_id id_of(std::uint32_t index) const noexcept { return {index, tickets_[index].generation}; }

  /// Why a request cannot even be considered, with the bound; `reason::none` when it can.
  [[nodiscard]] reason objection(const request& what, constraint& bound) const noexcept;
  [[nodiscard]] std::uint32_t make_ticket(const request& what);
  void grant_ticket(std::uint32_t index) noexcept;
  void forget(std::uint32_t index) noexcept;
  void enqueue(std::uint32_t index);
  void dequeue(std::uint32_t index);

  /// Takes a waiter out and says so.
  void reject_waiter(std::uint32_t index, reason why, constraint bound, effects& out);
  void reject_newcomer(const request& what, reason why, constraint bound, effects& out);
  /// Keeps the queue within its bounds after `newcomer` joined it; true when somebody had to go.
  bool shed(std::uint32_t newcomer, effects& out);
  void shed_one(std::uint32_t index, std::uint32_t newcomer, constraint bound, effects& out);
  [[nodiscard]] std::size_t class_to_shed() const noexcept;

  void sort_classes() noexcept;
  void relist_stoppable() noexcept;
  /// Rejects the waiters that no longer could ever fit.
  void reject_impossible(effects& out);

  /// The steps with which every event ends: who has no time left, who starts, who is stopped for whom, when to wake.
  void settle(effects& out);
  /// Whether anybody had to go.
  bool expire(effects& out);
  void serve(effects& out);
  [[nodiscard]] std::size_t next_to_start() const noexcept;
  void restore(effects& out);
  /// Stops the work of classes below `c` until `target` is covered.
  void reclaim(std::size_t c, capacity target, effects& out);
  [[nodiscard]] bool may_be_listed(const ticket& which) const noexcept;
  [[nodiscard]] bool may_stop(std::size_t victim_class, const grant& victim) const noexcept;
  void ask_for_wake(effects& out);

  [[nodiscard]] bool entitled(std::size_t c) const noexcept;
  /// When the head of class `c` has waited long enough for its floor.
  [[nodiscard]] instant restore_at(std::size_t c) const noexcept;

  /// The numbers of a decision about `asked` bound by `bound`.
  [[nodiscard]] decision describe(std::size_t c, const cost& asked, constraint bound) const noexcept;
  [[nodiscard]] decision describe(const ticket& which, constraint bound) const noexcept;
  [[nodiscard]] constraint bound_of(const ticket& which) const noexcept;

  policy rules_;
  bool closed_ = false;
  /// Not before the origin, so that no difference of instants overflows.
  instant now_{};
  /// The wish for a tick that was last expressed.
  instant armed_ = never;
  /// No waiter's deadline is earlier.
  instant next_deadline_ = never;
  /// How many waiters ask for no slot.
  std::size_t slotless_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t next_grant_ = 1;
  std::size_t in_flight_ = 0;
  std::size_t class_count_ = 0;

  tickets tickets_;
  grants grants_;
  ledger ledger_;
  wait_queue queue_{tickets_};
  stop_list stoppable_{grants_};
  /// What returns once the work that was told to stop has stopped: in all, and per class.
  capacity reclaiming_{};
  std::array<capacity, max_workloads> stopping_{};

  /// Classes by priority, and each one's place in that order.
  std::array<std::uint8_t, max_workloads> by_priority_{};
  std::array<class_statistics, max_workloads> counts_{};
};

inline const ticket* admission::state::find(request_id id) const noexcept {
  if (id.index >= tickets_.size()) return nullptr;
  const ticket& which = tickets_[id.index];
  return which.generation == id.generation && which.state != ticket::phase::unknown ? &which : nullptr;
}

inline bool admission::state::is(request_id id, ticket::phase phase) const noexcept {
  const ticket* which = find(id);
  return which != nullptr && which->state == phase;
}

[[gnu::always_inline]] inline void admission::state::grant_ticket(std::uint32_t index) noexcept {
  ticket& which = tickets_[index];
  const std::size_t c = which.workload;
  const std::uint32_t place = grants_.take();
  which.grant = place;
  which.state = ticket::phase::holding;
  grant& made = grants_[place];
  made.hold = which.tokens;
  made.used = {};
  made.since = now_;
  made.revision = rules_.revision;
  made.number = next_grant_++;
  made.ticket = index;
  made.listed = made.stoppable = made.stopping = false;
  ledger_.take(c, which.asked());
  ++in_flight_;
  class_statistics& counts = counts_[c];
  ++counts.in_flight;
  ++counts.admitted_total;
  add(counts.reserved_tokens_total, which.tokens);
}

[[gnu::always_inline]] inline void admission::state::forget(std::uint32_t index) noexcept {
  ticket& gone = tickets_[index];
  gone.state = ticket::phase::unknown;
  // Zero names nobody.
  if (++gone.generation == 0) gone.generation = 1;
  tickets_.give(index);
}

}  // namespace sluice::core
