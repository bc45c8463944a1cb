/// \file
/// The inside of the state machine: the rooms it is composed of, and the steps that its events share.
#pragma once

#include "core/adaptive_limit.hpp"
#include "core/budget.hpp"
#include "core/candidate.hpp"
#include "core/drain_rate.hpp"
#include "core/elastic_cap.hpp"
#include "core/explain_ring.hpp"
#include "core/fair_queue.hpp"
#include "core/key_table.hpp"
#include "core/ledger.hpp"
#include "core/newcomer.hpp"
#include "core/overload.hpp"
#include "core/pace.hpp"
#include "core/preemption.hpp"
#include "core/rate_cell.hpp"
#include "core/reopening.hpp"
#include "core/reported_limits.hpp"
#include "core/retry_window.hpp"
#include "core/saturating.hpp"
#include "core/service_model.hpp"
#include "core/standing.hpp"
#include "core/stop_list.hpp"
#include "core/tenant_table.hpp"
#include "core/ticket.hpp"
#include "core/wait_queue.hpp"

#include <sluice/core/admission.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sluice::core {

/// No exchange can credibly have used more; keeps every sum of holds within 64 bits.
inline constexpr std::int64_t most_usage = std::int64_t{1} << 40;
inline constexpr std::int64_t most_slots = std::numeric_limits<std::int32_t>::max();

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
  void signal(request_id id, provider_signal what, instant now, effects& out);
  void pause(instant until, instant now, effects& out);
  void report_limits(const provider_limits& said, instant now, effects& out);
  expected<run_id, error> open_run(const run_options& what);
  expected<void, error> extend_run(run_id id, const spending& more, instant now, effects& out);
  expected<void, charge_refusal> charge_run(run_id id, const spending& what, instant now, effects& out);
  [[nodiscard]] bool thresholds_untold() const noexcept { return !pending_.empty(); }
  bool close_run(run_id id, bool hold, instant now, effects& out);
  [[nodiscard]] bool may_charge(run_id id) const noexcept { return runs_.find(id) != no_run; }
  [[nodiscard]] bool could_be_stopped(request_id id) const noexcept;
  [[nodiscard]] bool in_closed_run(request_id id) const noexcept;

  [[nodiscard]] std::optional<run_balance> balance(run_id id) const { return runs_.balance(id); }
  [[nodiscard]] sluice::statistics statistics() const;
  [[nodiscard]] expected<sluice::forecast, decision> forecast(const request& what, instant now);
  [[nodiscard]] std::optional<decision> explain(request_id id) const;
  [[nodiscard]] std::optional<age> age_of(request_id id) const;
  [[nodiscard]] std::vector<decision> recent() const { return records_.all(); }
  [[nodiscard]] std::vector<std::uint64_t> waiting_tags() const;
  [[nodiscard]] std::optional<std::string> broken_invariant() const;

  [[nodiscard]] const policy& rules() const noexcept { return rules_; }
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return queue_.size(); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] instant now() const noexcept { return now_; }
  [[nodiscard]] bool needs_time() const noexcept { return needs_time_ || rules_.retries.enabled || reported_.any(); }

 private:
  /// An event that comes at no time at all comes now: `never` stays later than any present.
  void advance(instant now) noexcept {
    if (now > now_ && now != never) now_ = now;
  }
  [[nodiscard]] const ticket* find(request_id id) const noexcept;
  [[nodiscard]] bool is(request_id id, ticket::phase phase) const noexcept;
  [[nodiscard]] request_id id_of(std::uint32_t index) const noexcept { return {index, tickets_[index].generation}; }

  // What requests are, and become.
  [[nodiscard]] candidate candidate_of(const request& what);
  [[nodiscard]] candidate candidate_for(const request& what, std::uint32_t tenant) const noexcept;
  [[nodiscard]] candidate candidate_of(std::uint32_t index) const noexcept;
  [[nodiscard]] bool is_plain(const request& what) const noexcept {
    return (what.tenant.key() | what.run.generation | what.model.key()) == 0;
  }
  [[nodiscard]] const detail& detail_of(std::uint32_t index) const noexcept { return details_[detail_of_[index]]; }
  [[nodiscard]] detail& detail_of(std::uint32_t index) noexcept { return details_[detail_of_[index]]; }
  [[nodiscard]] std::uint32_t tenant_of(std::uint32_t index) const noexcept {
    return tickets_[index].detailed ? detail_of(index).tenant : tenant_table::nobody;
  }
  [[nodiscard]] std::uint32_t flow_of(std::uint32_t index) const noexcept {
    return tickets_[index].detailed ? detail_of(index).flow : tickets_[index].workload;
  }
  [[nodiscard]] placement place_of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::int64_t price_of(sluice::model which, std::int64_t input, std::int64_t output) const noexcept;

  /// Why a request cannot even be considered, with the bound; `reason::none` when it can.
  [[nodiscard]] reason objection(const request& what, const candidate& as, constraint& bound) const noexcept;
  [[nodiscard]] bool may_be_tried(const candidate& what) const noexcept {
    return what.kind == attempt::first || retries_.allows(what.asked.tokens, now_);
  }
  /// What keeps it from starting at once when nobody waits.
  [[nodiscard]] bool can_start_at_once(const candidate& what) const noexcept;
  [[nodiscard]] std::uint32_t make_plain_ticket(const request& what);
  [[nodiscard]] std::uint32_t make_ticket(const request& what, const candidate& as);
  void add_detail(std::uint32_t index, const request& what, const candidate& as);
  /// It holds what it asked for from now on; its price must have been set aside.
  void grant_ticket(std::uint32_t index) noexcept;
  void charge_start(std::uint32_t index) noexcept;
  void start_after_pause() noexcept;
  void count_attempt(std::uint32_t index) noexcept;
  void reserve_repeat(std::uint32_t index) noexcept;
  void count_repeat(std::uint32_t index) noexcept;
  void forget(std::uint32_t index) noexcept;
  void drop_detail(std::uint32_t index) noexcept;
  /// What becomes of a request that does not start at once.
  void await_turn(std::uint32_t index, const candidate& as, bool may_wait, bool moved, effects& out);
  void enqueue(std::uint32_t index);
  void dequeue(std::uint32_t index);
  void change_hold(std::uint32_t index, std::int64_t hold) noexcept;
  /// Its tenant and its rates were charged what it reserved; it used something else.
  void correct_charges(std::uint32_t index, const usage& used);

  // Being turned away.
  void reject_waiter(std::uint32_t index, reason why, constraint bound, effects& out);
  /// It runs all the same, because the policy only observes, and holds nothing.
  void let_through(std::uint32_t index, reason why, constraint bound, effects& out);
  void reject_newcomer(const request& what, const candidate& as, reason why, constraint bound, effects& out);
  void count_rejection(std::size_t c, reason why) noexcept;
  /// Keeps the queue within its bounds after `newcomer` joined it; true when somebody had to go.
  bool shed(std::uint32_t newcomer, effects& out);
  void shed_one(std::uint32_t index, std::uint32_t newcomer, constraint bound, effects& out);
  [[nodiscard]] std::size_t class_to_shed() const noexcept;

  // The policy.
  void put_in_force();
  void sort_classes() noexcept;
  void relist_stoppable() noexcept;
  void reject_impossible(effects& out);
  void let_all_through(effects& out);

  // The steps with which every event ends: who has no time left, who starts, who is stopped for whom, when to wake.
  void settle(effects& out);
  void finish_event(effects& out);
  /// Whether anybody had to go.
  bool expire(effects& out) { return queue_.earliest_deadline() <= now_ && expire_all(out); }
  bool expire_all(effects& out);
  void serve(effects& out);
  /// Takes away what keeps a class's next from being its next: those that can no longer be done, tenants without rate.
  void prepare_heads(effects& out);
  void resume_flows() noexcept;
  /// One that is paused, because what it waits for may be there already.
  void resume_flow(std::uint32_t flow);
  void resume_all_flows() noexcept;
  next_waiter& next_in(std::size_t c) noexcept {
    if (flows_.stirred(c) || now_ >= next_[c].until) [[unlikely]]
      find_next(c);
    return next_[c];
  }
  [[nodiscard]] std::uint32_t next_of(std::size_t c) noexcept { return next_in(c).index; }
  void find_next(std::size_t c) noexcept;
  /// From scratch; says until when it stays so.
  [[nodiscard]] std::uint32_t look_for_next(std::size_t c, instant& until) const noexcept;
  /// The next of a class is found to be fine as it is, or taken out of its place.
  [[nodiscard]] bool found_fine(std::size_t c, const next_waiter& which, effects& out);
  /// The classes whose next must be looked at.
  [[nodiscard]] std::uint32_t unlooked() noexcept {
    const bool holds = now_ < fine_.until && in_flight_ <= fine_.in_flight && fine_.learned == learned_;
    return queue_.waiting_classes() & (holds ? flows_.stirred() | unlooked_ : forget_what_was_fine());
  }
  std::uint32_t forget_what_was_fine() noexcept;
  /// Whether that may be anybody at all.
  [[nodiscard]] bool may_start_any() noexcept;
  [[nodiscard]] choice choose();
  /// Short of the provider's rate: notes when it is there.
  [[nodiscard]] constraint provider_bound(std::uint32_t index) noexcept;
  void note_adaptive_bound(std::uint32_t waiting) noexcept;
  /// Whether others may pass this head, which waits for room.
  [[nodiscard]] bool may_pass(std::uint32_t head) noexcept;
  [[nodiscard]] std::uint32_t small_one(std::size_t c, std::uint32_t head);
  void start_waiter(const choice& which, effects& out);
  void ask_for_wake(effects& out);
  /// When floors are due, and limits move.
  [[nodiscard]] instant next_change() noexcept;

  [[nodiscard]] bool somebody_fits() const noexcept;
  [[nodiscard]] std::optional<std::string> broken_runs() const;

  // Restoration of floors.
  void note_lack() noexcept;
  void restore(effects& out) {
    if (ledger_.anything_needed() || lacking_ != 0) restore_floors(out);
  }
  void restore_floors(effects& out);
  void reclaim(std::size_t c, capacity target, effects& out);
  [[nodiscard]] bool may_be_listed(const ticket& which) const noexcept;
  [[nodiscard]] bool nearly_done(const grant& running) const noexcept;
  [[nodiscard]] std::int64_t sunk_in(const grant& running) const noexcept;
  [[nodiscard]] bool entitled(std::size_t c) noexcept { return ledger_.within_floor(c, next_in(c).asked); }
  /// When class `c` has waited long enough for its floor.
  [[nodiscard]] instant restore_at(std::size_t c) noexcept;

  // Runs.
  void flush_thresholds(effects& out);
  /// What a run that is about to be closed, and the runs below it, have waiting and running.
  void end_requests_of(std::uint32_t node, effects& out);
  void join_tree(std::uint32_t index) noexcept;
  /// Harmless when it is in none.
  void leave_tree(std::uint32_t index) noexcept;
  void keep_thresholds() { pending_.insert(pending_.end(), runs_.crossings().begin(), runs_.crossings().end()); }
  /// Sets the price of a request aside, or tells what is in the way.
  [[nodiscard]] budget_verdict pay(std::uint32_t index) noexcept;
  void settle_price(std::uint32_t index, const spending& used, effects& out);
  /// What was set aside for one that does not start: its price, and its place among what is tried again.
  void release_reserved(std::uint32_t index, effects& out);
  void park(std::uint32_t index, std::uint32_t node);
  void unpark(std::uint32_t node, effects& out);
  /// Those who wait for a run to which the last event of the tree gave something back.
  void unpark_eased(effects& out);

  // Limits that move, and what is learned.
  void learn(std::uint32_t index, const grant& ended, effects& out);
  void note_first_token(std::uint32_t index) noexcept;
  [[nodiscard]] bool is_elastic(std::size_t c) const noexcept { return (elastic_classes_ >> c & 1U) != 0; }
  /// How long the next of the classes above have waited at most, negative for nobody; and whether anything of those
  /// classes runs.
  [[nodiscard]] duration longest_wait_above(std::size_t c) noexcept;
  [[nodiscard]] bool anybody_runs_above(std::size_t c) const noexcept;
  /// Whether any moved.
  bool move_limits(effects& out);
  void apply_adaptive(std::int64_t before, effects& out);
  void reject_infeasible(effects& out);
  /// Work with a deadline has come; what has none can miss none.
  void count_arrival(std::size_t c, duration given) noexcept {
    if (rules_.overload.enabled) overloads_[c].arrived(now_);
    if (rules_.feasibility.enabled) note_time_given(c, given);
  }
  void count_miss(std::size_t c) noexcept {
    if (rules_.overload.enabled) overloads_[c].missed(now_);
  }
  void watch_overload(std::size_t c);
  void note_time_given(std::size_t c, duration given) noexcept;
  /// Works out how many of a class may run at once for its work to be done in time.
  void renew_pace(std::size_t c) noexcept;
  void limit_class(std::size_t c) noexcept;
  [[nodiscard]] std::uint64_t expected_cost(std::uint32_t index) const noexcept {
    return expected_cost(candidate_of(index));
  }
  [[nodiscard]] std::uint64_t expected_cost(const candidate& what) const noexcept;
  [[nodiscard]] std::optional<service_estimate> expect(const candidate& what) const noexcept;
  /// For work with `ahead` before it; `waits`: whether it has to wait at all.
  [[nodiscard]] prospect foresee(const candidate& what, capacity ahead, bool waits) const noexcept;
  /// What is sure to be served before a waiter: all of classes of higher priority, and the others of its class when it
  /// has the latest deadline of all that came.
  [[nodiscard]] capacity ahead_of(std::uint32_t index) const noexcept;
  [[nodiscard]] capacity ahead_in(std::size_t c, bool last, capacity own) const noexcept;
  /// Whether it could end by its deadline if it started now, as far as is known.
  [[nodiscard]] bool in_time(const candidate& what) const noexcept {
    return !rules_.feasibility.enabled || now_ <= latest_start(what);
  }
  /// The last instant for that, as long as no more are in flight.
  [[nodiscard]] instant latest_start(const candidate& what) const noexcept;
  [[nodiscard]] bool hopeless(std::uint32_t index) const noexcept {
    return rules_.feasibility.enabled && now_ > latest_start_of(index);
  }
  [[nodiscard]] instant latest_start_of(std::uint32_t index) const noexcept {
    const instant deadline = tickets_[index].deadline;
    return deadline == never || services_.empty() ? deadline : latest_start(candidate_of(index));
  }
  /// The same, with what is ahead of it.
  [[nodiscard]] bool cannot_make_it(std::uint32_t index, const candidate& what) const noexcept {
    if (what.deadline == never || !rules_.feasibility.enabled || queue_.is_parked(index)) return false;
    return !foresee(what, ahead_of(index), true).feasible;
  }

  // What would become of one that is not there.
  [[nodiscard]] expected<sluice::forecast, decision> forecast_at_present(const request& what);
  [[nodiscard]] decision refusal_of(const request& what, const candidate& as, reason why,
                                    constraint bound) const noexcept;
  [[nodiscard]] newcomer newcomer_of(const request& what, const candidate& as) noexcept;
  [[nodiscard]] bool would_resume(const newcomer& who) const noexcept;
  /// What becomes of the next of its tenant, which its rate has paused.
  void look_again(newcomer& who) noexcept;
  [[nodiscard]] bool would_have_turn(const newcomer& who) const noexcept;
  /// The next of its class when it has joined; `nowhere` for itself.
  [[nodiscard]] std::uint32_t next_with(const newcomer& who) const noexcept;
  [[nodiscard]] constraint bound_at_arrival(const newcomer& who) const noexcept;
  [[nodiscard]] capacity would_be_ahead_of(const newcomer& who) const noexcept;
  /// Puts down what it asks for as what waits.
  void put_down(const newcomer& who, ledger& accounts) const noexcept;
  /// Who starts when it has joined: `nowhere` for itself, or another one that waits, or nobody.
  [[nodiscard]] std::optional<std::uint32_t> who_would_start(const newcomer& who, const ledger& accounts);
  [[nodiscard]] bool would_pass(const newcomer& who, std::uint32_t head, const ledger& accounts);
  [[nodiscard]] bool could_be_passed(std::uint32_t head, const candidate& what) const noexcept;
  [[nodiscard]] bool would_raise_its_ceiling(const newcomer& who, ledger& accounts);
  /// The bound on the queue by which it would be turned away, if any.
  [[nodiscard]] constraint would_be_shed(const newcomer& who);
  [[nodiscard]] duration patience_for(const candidate& head) const noexcept;
  [[nodiscard]] std::int64_t most_beside(std::size_t c) const noexcept;

  // Explanations.
  /// What stands in the way of a request now, most binding first; `order` when nothing but others does.
  [[nodiscard]] constraint bound_of(std::uint32_t index) const noexcept { return bound_of(index, candidate_of(index)); }
  [[nodiscard]] constraint bound_of(std::uint32_t index, const candidate& what) const noexcept;
  [[nodiscard]] static constraint bound_of(const budget_verdict& verdict) noexcept;
  /// What a rate has against it: for ever, and now.
  [[nodiscard]] bool provider_rated() const noexcept { return rates_.limited() || reported_.any(); }
  [[nodiscard]] bool rated() const noexcept { return provider_rated() || tenant_rates_; }
  [[nodiscard]] constraint provider_short(const candidate& what) const noexcept;
  [[nodiscard]] static bool is_rate(constraint bound) noexcept {
    return (bound >= constraint::provider_requests && bound <= constraint::tenant_output) ||
           bound >= constraint::reopening;
  }
  [[nodiscard]] constraint impossible_rate(const candidate& what) const noexcept;
  [[nodiscard]] constraint rate_bound(const candidate& what) const noexcept;
  /// A moving limit, when it is that and not the policy's own that is in the way.
  [[nodiscard]] constraint refined(const candidate& what, constraint bound) const noexcept;
  void describe(const candidate& what, constraint bound, decision& into) const noexcept;
  void describe_retries(const candidate& what, decision& into) const noexcept;
  /// Without what is foreseen, which takes longer than all the rest.
  void describe_as_it_is(std::uint32_t index, const candidate& what, constraint bound, decision& into) const noexcept;
  [[nodiscard]] decision describe(std::uint32_t index, constraint bound) const noexcept;
  void record(const decision& made) {
    if (records_.on()) records_.next() = made;
  }
  void record_wait(std::uint32_t index, const candidate& what);
  void record_preemption(std::uint32_t index);

  policy rules_;
  bool closed_ = false;
  bool needs_time_ = false;
  /// Whether any tenant has a rate, and whether heads need a look before they are served.
  bool tenant_rates_ = false;
  bool heads_change_ = false;
  /// Not before the origin, so that no difference of instants overflows.
  instant now_{};
  /// The wish for a tick that was last expressed.
  instant armed_ = never;
  /// When the head that waits for the provider's rate can start.
  instant rate_wake_ = never;
  /// How many waiters ask for no slot.
  std::size_t slotless_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint32_t next_grant_ = 1;
  std::size_t in_flight_ = 0;
  std::size_t class_count_ = 0;

  tickets tickets_;
  grants grants_;
  details details_;
  std::vector<std::uint32_t> detail_of_;
  ledger ledger_;
  fair_queue flows_;
  tenant_table tenants_{flows_};
  wait_queue queue_{tickets_, flows_};
  rate_cells rates_;
  reported_limits reported_;
  reopening reopening_;
  retry_window retries_;
  /// By the kind of the attempt; but for the first, which are all the others.
  std::array<std::int64_t, attempt_count> attempts_{};
  budget runs_;
  key_table price_of_model_;
  stop_list stoppable_{grants_};
  preemption victims_;
  service_model services_;
  drain_rate drain_;
  adaptive_limit adaptive_;
  /// When work last waited for the adaptive limit.
  instant adaptive_bound_at_ = instant::min();
  std::array<elastic_cap, max_workloads> elastic_;
  std::uint32_t elastic_classes_ = 0;
  std::array<overload, max_workloads> overloads_;
  /// How often anything was learned that expectations follow.
  std::uint64_t learned_ = 0;
  pace pace_;
  std::array<habit, max_workloads> habits_{};
  explain_ring records_;
  std::vector<budget_crossing> pending_;
  /// While the requests of a run are ended: the one after this.
  std::uint32_t next_in_tree_ = nowhere;

  /// The head that waits for room in the pool, how many have passed it, and since when it has been that head.
  request_id blocked_{};
  std::int64_t passes_ = 0;
  instant blocked_since_{};

  /// What returns once the work that was told to stop has stopped: in all, and per class.
  capacity reclaiming_{};
  std::array<capacity, max_workloads> stopping_{};
  /// The classes whose next is within their floor and does not start, and since when.
  std::uint32_t lacking_ = 0;
  std::array<instant, max_workloads> lacking_since_{};
  /// The latest deadline that has come to each class since nobody waited in it.
  std::array<instant, max_workloads> latest_deadline_{};

  std::array<next_waiter, max_workloads> next_{};
  /// Whose next was found and not looked at since; and how long what was seen of the others holds.
  std::uint32_t unlooked_ = 0;
  horizon fine_{};

  /// Classes by priority; and of each class, those that come before it.
  std::array<std::uint8_t, max_workloads> by_priority_{};
  std::array<std::uint32_t, max_workloads> above_{};
  std::array<class_statistics, max_workloads> counts_{};
  /// All that waits asks for, also what does not wait for capacity.
  std::array<demand, max_workloads> demand_{};
};

}  // namespace sluice::core

#include "core/admission_steps.hpp"
