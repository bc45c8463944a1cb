/// \file
/// The state behind a bulkhead: the core under one mutex, and the waiters that are on their way to their executors.
#pragma once

#include "runtime/brief_mutex.hpp"
#include "runtime/budget_listeners.hpp"
#include "runtime/context_hook.hpp"

#include <sluice/core/admission.hpp>
#include <sluice/core/event_log.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/detail/guard.hpp>
#include <sluice/runtime/detail/waiter.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/query.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sluice::detail {

/// Woken when a gate becomes idle.
class idle_observer {
 public:
  /// Called on any thread, without a lock held: the gate is idle, or its bulkhead is about to go. The time source may
  /// not be touched after this.
  virtual void became_idle() noexcept = 0;
  /// The context in which it lives.
  [[nodiscard]] virtual asio::execution_context& context() const noexcept = 0;

 protected:
  ~idle_observer() = default;
};

/// Lives until its bulkhead, all permits and all undelivered waiters are gone; the last one out destroys it. What
/// counts its users is guarded by the same mutex as the core, so that a permit costs no atomic of its own.
class gate {
 public:
  gate(asio::any_io_executor home, const policy& rules, time_source* time);
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  /// The bulkhead is gone: everything that waits is refused.
  static void abandon(gate* gone);

  /// `request_id{}` when it has to wait, or is refused.
  [[nodiscard]] core::request_id admit_at_once(const core::request& what);
  [[nodiscard]] expected<core::request_id, rejection> try_admit(core::request what);
  void enqueue(waiter& who, const core::request& what);
  void cancel(waiter& who) noexcept;
  void finish(core::request_id id, core::ending how, const std::optional<usage>& used) noexcept;
  void finish_signalled(core::request_id id, core::ending how, const std::optional<usage>& used) noexcept;
  expected<void, error> report(core::request_id id, const progress& how_far);
  expected<void, error> reconfigure(const policy& next);
  void close();
  [[nodiscard]] expected<run_id, error> open_run(const run_options& what);
  [[nodiscard]] expected<run_id, error> open_run(const run_options& what, budget_listener on_threshold);
  expected<void, charge_refusal> charge_run(run_id which, const spending& what);
  expected<void, error> extend_run(run_id which, const spending& more);
  bool close_run(run_id which, bool hold);
  void stop_with(run_id which, const std::shared_ptr<stoppable>& stop);
  [[nodiscard]] std::optional<run_balance> balance(run_id which) const;
  void pause(duration length);
  void report_limits(const provider_limits& said);
  [[nodiscard]] expected<sluice::forecast, rejection> forecast(const core::request& what) const;
  void signal(core::request_id id, provider_signal what);
  [[nodiscard]] std::vector<decision> recent_decisions() const;
  void start_recording(std::size_t most_bytes);
  [[nodiscard]] std::string take_recording();

  [[nodiscard]] std::optional<rejection> refuse_if_abandoned(const core::request& what) const;
  [[nodiscard]] rejection refuse_in_closed_run(const core::request& what) const;
  void begin_guard(core::request_id id, const std::shared_ptr<stoppable>& stop);
  void end_guard(core::request_id id, const stoppable& stop) noexcept;
  void stop_by(core::request_id id, const std::shared_ptr<stoppable>& stop);
  [[nodiscard]] stop_cause stopped(core::request_id id) const noexcept;
  [[nodiscard]] bool could_be_stopped(core::request_id id) const noexcept;
  void delivered() noexcept;
  /// From one to the other the gate lives, whatever becomes of its bulkhead.
  void hold() noexcept;
  void let_go() noexcept;

  /// Registers `who` unless the gate is idle now; gives what there is either way. The gate lives until it is forgotten.
  drain_result observe_idle(std::shared_ptr<idle_observer> who);
  void forget(const idle_observer& who) noexcept;

  [[nodiscard]] statistics take_statistics() const;
  [[nodiscard]] policy current_policy() const;
  [[nodiscard]] std::optional<decision> explain(core::request_id id) const;
  [[nodiscard]] std::optional<age> age_of(core::request_id id) const;

  // In this order: while an executor of the home context is in use, nobody takes the home executor away.
  [[nodiscard]] bool is_home(const asio::any_io_executor& executor) const noexcept {
    return &asio::query(executor, asio::execution::context) == home_context_.load(std::memory_order_relaxed) &&
           executor == home_;
  }
  [[nodiscard]] const asio::any_io_executor& home() const noexcept { return home_; }
  /// Precondition: the bulkhead lives.
  [[nodiscard]] time_source& time() const noexcept { return *time_; }

 private:
  class wake_entry final : public time_source::entry {
   public:
    explicit wake_entry(gate& owner) noexcept : owner_(owner) {}
    void due(instant now) noexcept override { owner_.tick(now); }

   private:
    gate& owner_;
  };
  class watch final : public context_hook {
   public:
    watch(gate& owner, asio::execution_context& context) : owner_(owner), context_(context) { attach(context); }
    ~watch() override { detach(); }
    void context_gone() noexcept override { owner_.context_gone(context_); }
    [[nodiscard]] const asio::execution_context& context() const noexcept { return context_; }

   private:
    gate& owner_;
    asio::execution_context& context_;
  };
  /// What an event leaves to be done once the mutex is free.
  class aftermath;
  class drain_turn;
  class telling_turn;

  ~gate() = default;

  void tick(instant now) noexcept;
  void finish_among_others(std::unique_lock<brief_mutex> lock, core::request_id id, core::ending how,
                           const std::optional<usage>& used) noexcept;
  [[nodiscard]] instant present_for(instant deadline) const noexcept;
  /// Translates the effects of an event. Under the mutex.
  void apply(aftermath& left);
  void note_idle(aftermath& left);
  void hand_over(waiter& who, bool abroad, aftermath& left);
  [[nodiscard]] rejection refusal(const decision& what) const;
  /// The refusal of what has run before, for `why`.
  [[nodiscard]] rejection refusal(const core::request& what, reason why) const;
  /// From now on `stop` is what stops the work of `id`; at once, when its run is closed. Gives what it takes the place
  /// of, which must not be freed under the mutex, as this is.
  [[nodiscard]] std::shared_ptr<stoppable> set_stop(core::request_id id, const std::shared_ptr<stoppable>& stop,
                                                    aftermath& left);
  /// Of what waits on behalf of runs, that whose run can be charged no more. Under the mutex.
  void stop_in_closed_runs(aftermath& left);
  /// Whether the caller has to destroy the gate: says so once.
  [[nodiscard]] bool claim_if_unused() noexcept;
  void watch_context(asio::execution_context& context);
  void context_gone(asio::execution_context& context) noexcept;
  /// Waits for the events whose aftermath is being posted now.
  void let_posts_end(std::unique_lock<brief_mutex>& lock) noexcept;
  /// Invokes what is ready, up to a bound, and comes again for the rest.
  void run_ready();
  void take_turn_back(waiter* rest, waiter* last, std::size_t delivered) noexcept;
  /// A run may have crossed a threshold in an event that has no effects.
  void tell_untold(aftermath& left);
  void tell_untold() noexcept;
  void start_telling(aftermath& left) noexcept;
  /// Calls listeners, up to a bound, and comes again for the rest.
  void tell_listeners();
  void end_telling() noexcept;
  /// The instant for an event that came without one.
  [[nodiscard]] instant clock() const noexcept;

  struct recording {
    explicit recording(std::size_t most_bytes) : log(text, most_bytes) {}
    std::string text;
    core::event_log_writer log;
  };

  mutable brief_mutex mutex_;
  core::admission core_;
  std::unique_ptr<recording> recording_;
  /// Whether it records: then instants matter to all that happens.
  std::atomic<bool> timed_{false};
  /// Whether it records, or somebody listens to a run: then no event passes unseen.
  bool watched_ = false;
  core::effects effects_;
  /// Whether somebody waited when the mutex was last free: then there is no use in trying to pass at once.
  std::atomic<bool> crowded_{false};
  /// Whether instants matter also when there is room.
  std::atomic<bool> needs_time_{false};

  asio::any_io_executor home_;
  std::atomic<asio::execution_context*> home_context_;
  std::unique_ptr<time_source> own_time_;
  time_source* time_;
  wake_entry wake_{*this};

  // Waiters at home whose outcome is known, in order; one posted turn invokes many.
  waiter* ready_first_ = nullptr;
  waiter* ready_last_ = nullptr;
  bool draining_ = false;
  /// Keeps the home context's `run` from returning while somebody at home waits.
  std::optional<asio::any_io_executor> home_work_;

  /// Undelivered waiters: at home, and in all.
  std::size_t at_home_ = 0;
  std::size_t undelivered_ = 0;
  /// Whether the bulkhead lives, how many guards, drains and others still need the gate, and whether it is being
  /// destroyed.
  bool alive_ = true;
  std::size_t busy_ = 0;
  bool claimed_ = false;
  /// Events whose aftermath is being posted to executors. A context that goes away waits for those that began before.
  std::array<std::size_t, 2> posting_{};
  std::size_t epoch_ = 0;
  std::condition_variable_any posted_;

  budget_listeners listeners_;
  /// Whether a turn that calls them is on its way.
  bool telling_ = false;

  /// By the index of the request.
  std::vector<std::shared_ptr<stoppable>> stops_;
  /// What waits on behalf of runs; and how many there may be before those that are gone are looked for.
  std::vector<std::pair<run_id, std::weak_ptr<stoppable>>> with_runs_;
  std::size_t enough_with_runs_ = 16;
  std::list<watch> watches_;
  std::vector<std::shared_ptr<idle_observer>> idle_observers_;
};

}  // namespace sluice::detail
