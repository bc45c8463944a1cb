/// \file
/// What is held, asked for and known, and what stands in whose way. Nothing is kept that can be added up.
#pragma once

#include "core/adaptive_limit.hpp"
#include "core/drain_rate.hpp"
#include "core/elastic_cap.hpp"
#include "core/overload.hpp"
#include "core/pace.hpp"
#include "core/reference/piece.hpp"
#include "core/reference/provider.hpp"
#include "core/reference/retries.hpp"
#include "core/reference/runs.hpp"
#include "core/reference/turns.hpp"
#include "core/service_model.hpp"

#include <sluice/core/admission.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::core::testing {

class accounts {
 public:
  explicit accounts(policy rules) : rules_(std::move(rules)), services_(rules_.classes.size()) {
    lacking_since_.fill(never);
    put_in_force();
  }

  std::vector<piece> waiting;
  std::vector<piece> holding;
  plain_runs runs;
  /// What the last event brought about; the caller clears it.
  std::vector<seen_effect> out;
  /// Whom the machine has named in this event, in its order. Where no rule orders those that go together, its order
  /// will do.
  std::vector<std::uint64_t> named;

  [[nodiscard]] const policy& rules() const { return rules_; }
  [[nodiscard]] instant now() const { return now_; }
  [[nodiscard]] bool closed() const { return closed_; }

  static const piece* find(const std::vector<piece>& among, std::uint64_t tag) {
    for (const piece& one : among) {
      if (one.asked.tag == tag) return &one;
    }
    return nullptr;
  }
  static piece* find(std::vector<piece>& among, std::uint64_t tag) {
    return const_cast<piece*>(find(std::as_const(among), tag));
  }

  [[nodiscard]] sluice::statistics statistics() const {
    sluice::statistics all;
    all.revision = rules_.revision;
    all.total = rules_.total;
    all.class_count = classes();
    if (rules_.adaptive.enabled) all.adaptive_limit = adaptive_.limit();
    all.adaptive_reason = adaptive_.reason();
    all.attempts_total = attempts_;
    all.tenants = tenants_.known();
    all.runs = runs.kept_count();
    const sums now = add_up();
    for (std::size_t c = 0; c < classes(); ++c) {
      class_statistics& one = all.classes[c];
      one = counts_[c];
      one.held = now.held[c];
      one.borrowed = {std::max<std::int64_t>(0, now.held[c].slots - floor(c).slots),
                      std::max<std::int64_t>(0, now.held[c].tokens - floor(c).tokens)};
      one.queued = now.demand[c];
      for (const piece& other : waiting) one.waiting += other.workload() == c ? 1 : 0;
      for (const piece& other : holding) one.in_flight += other.workload() == c ? 1 : 0;
      if (rules_.classes[c].elastic.enabled) one.elastic_limit = elastic_[c].cap();
      add(all.all.held, one.held);
      add(all.all.borrowed, one.borrowed);
      add(all.all.queued, one.queued);
      for (const auto member : members) all.all.*member += one.*member;
    }
    return all;
  }

  /// What stands in the way of one that waits.
  [[nodiscard]] constraint bound_of_waiter(std::uint64_t tag) const { return bound_of(*find(waiting, tag)); }

  /// What decides the future beside who waits and who runs, as numbers; but for what is learned.
  [[nodiscard]] std::vector<std::int64_t> hidden_state() const {
    std::vector<std::int64_t> told = turns_.numbers();
    const auto put = [&told](auto number) { told.push_back(static_cast<std::int64_t>(number)); };
    const auto put_instant = [&put](instant when) { put(when.time_since_epoch().count()); };
    put(closed_);
    if (pause_.in_force) {
      put_instant(std::max(now_, pause_.until));
      put_instant(std::max(now_, pause_.next_start));
      put_instant(std::max(now_, pause_.spread_end));
      put(pause_.spacing.count());
      put(pause_.spacing_after.count());
      if (now_ < pause_.until) put_instant(pause_.begun);
    }
    const plain_retries::sums tried = everything_tried();
    put(tried.fresh);
    put(tried.again);
    put(tried.count);
    put(slot_limit());
    put(blocked_ ? *blocked_ : 0);
    put(passes_);
    put_instant(blocked_since_);
    for (std::size_t c = 0; c < classes(); ++c) {
      put(lacking_[c]);
      put_instant(lacking_since_[c]);
    }
    for (std::size_t run = 0; run < runs.all.size(); ++run) {
      put(runs.all[run].open);
      put(runs.all[run].started);
      put(runs.all[run].limit[0]);
      put(runs.all[run].told);
      put(runs.spent(run, 0));
    }
    put(rates_.owing(now_));
    put(reports_.state(now_));
    for (std::size_t who = 0; who < tenants_.size(); ++who) put(tenants_[who].rates.owing(now_));
    return told;
  }

  /// All counts, by name.
  static constexpr std::array members{&class_statistics::in_flight,
                                      &class_statistics::waiting,
                                      &class_statistics::admitted_total,
                                      &class_statistics::admitted_after_wait_total,
                                      &class_statistics::rejected_total,
                                      &class_statistics::expired_total,
                                      &class_statistics::shed_total,
                                      &class_statistics::cancelled_total,
                                      &class_statistics::preempted_total,
                                      &class_statistics::infeasible_total,
                                      &class_statistics::unaffordable_total,
                                      &class_statistics::retries_refused_total,
                                      &class_statistics::observed_total,
                                      &class_statistics::reserved_tokens_total,
                                      &class_statistics::consumed_tokens_total,
                                      &class_statistics::refunded_tokens_total,
                                      &class_statistics::overrun_tokens_total,
                                      &class_statistics::wasted_tokens_total};

 protected:
  struct sums {
    std::array<capacity, max_workloads> held{};
    std::array<capacity, max_workloads> stopping{};
    /// All that waits, and what of it waits for capacity.
    std::array<capacity, max_workloads> demand{};
    std::array<capacity, max_workloads> queued{};
    std::array<capacity, max_workloads> need{};
    capacity free{};
    capacity reclaiming{};
  };

  static void add(capacity& to, capacity what) { to = {to.slots + what.slots, to.tokens + what.tokens}; }

  [[nodiscard]] std::size_t classes() const { return rules_.classes.size(); }

  void put_in_force() {
    rates_.configure(rules_.rates, now_);
    retries_.configure(rules_.retries);
    tenants_.configure(rules_, turns_, now_);
    adaptive_.configure(rules_.adaptive, rules_.total.slots);
    needs_time_ = rules_.feasibility.enabled || rules_.overload.enabled || rules_.adaptive.enabled ||
                  rules_.rates != rate_limits{} || tenant_rates();
    for (std::size_t c = 0; c < classes(); ++c) {
      const class_policy& each = rules_.classes[c];
      overloads_[c].configure(rules_.overload);
      elastic_[c].configure(each.elastic, std::min(each.ceiling.slots, rules_.total.slots));
      needs_time_ = needs_time_ || each.elastic.enabled || each.start_within > duration::zero();
      renew_pace(c);
    }
  }

  /// How many of a class may run at once for its average work to be done in its share of the time that it is given.
  void renew_pace(std::size_t c) {
    habit& own = habits_[c];
    const double share = rules_.feasibility.run_share;
    const bool held = rules_.feasibility.enabled && share > 0 && own.length > 0 && own.time_given > 0;
    own.most_at_once = held ? pace_.most_for(own.time_given * share / own.length) : unlimited;
  }

  [[nodiscard]] bool tenant_rates() const {
    return rules_.other_tenants.rates != rate_limits{} ||
           std::any_of(rules_.tenants.begin(), rules_.tenants.end(),
                       [](const tenant_policy& one) { return one.rates != rate_limits{}; });
  }

  [[nodiscard]] plain_flow& flow_of(const piece& one) const {
    return turns_.of(one.tenant, one.workload(), tenants_[one.tenant].weight);
  }
  [[nodiscard]] bool paused(const piece& one) const { return flow_of(one).paused; }

  [[nodiscard]] std::int64_t slot_limit() const {
    return rules_.adaptive.enabled ? std::min(rules_.total.slots, adaptive_.limit()) : rules_.total.slots;
  }
  /// The policy's ceiling, or a moving one that is lower: of an elastic class, and for work to be done in time.
  [[nodiscard]] capacity ceiling(std::size_t c) const {
    const class_policy& own = rules_.classes[c];
    const std::int64_t elastic = own.elastic.enabled ? elastic_[c].cap() : unlimited;
    return {std::min({own.ceiling.slots, elastic, habits_[c].most_at_once}), own.ceiling.tokens};
  }
  /// What the ceiling leaves of it is protected.
  [[nodiscard]] capacity floor(std::size_t c) const {
    const capacity whole = rules_.classes[c].floor;
    const std::int64_t most = ceiling(c).slots;
    return most == 0 ? capacity{} : capacity{std::min(whole.slots, most), whole.tokens};
  }

  [[nodiscard]] sums add_up() const {
    sums now;
    now.free = {slot_limit(), rules_.total.tokens};
    for (const piece& one : holding) {
      const capacity part{one.size.slots, one.hold};
      add(now.held[one.workload()], part);
      add(now.free, {-part.slots, -part.tokens});
      if (!one.stopping) continue;
      add(now.stopping[one.workload()], part);
      add(now.reclaiming, part);
    }
    for (const piece& one : waiting) {
      add(now.demand[one.workload()], one.part());
      if (!one.parked_at && !paused(one)) add(now.queued[one.workload()], one.part());
    }
    for (std::size_t c = 0; c < classes(); ++c) {
      const capacity floor = this->floor(c);
      now.need[c] = {std::min(std::max<std::int64_t>(0, floor.slots - now.held[c].slots), now.queued[c].slots),
                     std::min(std::max<std::int64_t>(0, floor.tokens - now.held[c].tokens), now.queued[c].tokens)};
    }
    return now;
  }

  [[nodiscard]] capacity others_need(const sums& now, std::size_t c) const {
    capacity others{};
    for (std::size_t other = 0; other < classes(); ++other) {
      if (other != c) add(others, now.need[other]);
    }
    return others;
  }

  [[nodiscard]] bool within_floor(const sums& now, std::size_t c, capacity part) const {
    const capacity floor = this->floor(c);
    return now.held[c].slots + part.slots <= floor.slots && now.held[c].tokens + part.tokens <= floor.tokens;
  }

  [[nodiscard]] constraint room(const sums& now, std::size_t c, capacity part) const {
    const capacity most = ceiling(c);
    if (part.slots > most.slots - now.held[c].slots) return constraint::class_slots;
    if (part.tokens > most.tokens - now.held[c].tokens) return constraint::class_tokens;
    if (part.slots > now.free.slots) return constraint::pool_slots;
    if (part.tokens > now.free.tokens) return constraint::pool_tokens;
    if (within_floor(now, c, part)) return constraint::none;
    const capacity others = others_need(now, c);
    if (now.free.slots < part.slots + others.slots) return constraint::protected_slots;
    if (now.free.tokens < part.tokens + others.tokens) return constraint::protected_tokens;
    return constraint::none;
  }

  [[nodiscard]] constraint possible(const piece& one) const {
    const capacity most = rules_.classes[one.workload()].ceiling;
    const capacity part = one.part();
    if (most.slots == 0 || part.slots > most.slots) return constraint::class_slots;
    if (part.tokens > most.tokens) return constraint::class_tokens;
    if (rules_.total.slots != 0 && part.slots > rules_.total.slots) return constraint::pool_slots;
    if (rules_.total.tokens != 0 && part.tokens > rules_.total.tokens) return constraint::pool_tokens;
    const plain_rates::amounts charge = charge_of(one);
    if (const rate_axis axis = rates_.impossible(charge); axis != rate_axis::none)
      return rate_constraint(constraint::provider_requests, axis);
    const rate_axis axis = tenants_[one.tenant].rates.impossible(charge);
    return axis == rate_axis::none ? constraint::none : rate_constraint(constraint::tenant_requests, axis);
  }

  [[nodiscard]] static plain_rates::amounts charge_of(const piece& one) {
    return {1, one.input(), one.size.output_tokens};
  }
  /// What has started again, and what waits to be.
  [[nodiscard]] plain_retries::sums everything_tried() const {
    plain_retries::sums all = retries_.add_up(now_);
    for (const piece& one : waiting) {
      if (!one.repeats) continue;
      all.again += one.size.tokens;
      ++all.count;
    }
    return all;
  }

  [[nodiscard]] static constraint rate_constraint(constraint first, rate_axis axis) {
    return static_cast<constraint>(static_cast<int>(first) + static_cast<int>(axis) - 1);
  }
  [[nodiscard]] constraint rate_bound(const piece& one) const {
    if (const rate_axis axis = rates_.first_short(charge_of(one), now_); axis != rate_axis::none)
      return rate_constraint(constraint::provider_requests, axis);
    if (const rate_axis axis = reports_.first_short(charge_of(one), now_); axis != rate_axis::none)
      return rate_constraint(constraint::reported_requests, axis);
    const rate_axis axis = tenants_[one.tenant].rates.first_short(charge_of(one), now_);
    return axis == rate_axis::none ? constraint::none : rate_constraint(constraint::tenant_requests, axis);
  }

  [[nodiscard]] constraint bound_of(const piece& one) const {
    if (one.parked_at) return budget_constraint(runs.check(*one.run, one.price(), one.asked.finalising));
    if (pause_.closed(now_)) return now_ < pause_.until ? constraint::provider_pause : constraint::reopening;
    const sums now = add_up();
    const std::size_t c = one.workload();
    const constraint bound = room(now, c, one.part());
    const std::int64_t lent = rules_.total.slots - slot_limit();
    if (bound == constraint::pool_slots && lent > 0 && one.size.slots <= now.free.slots + lent)
      return constraint::adaptive_limit;
    if (bound == constraint::class_slots && one.size.slots <= rules_.classes[c].ceiling.slots - now.held[c].slots)
      return constraint::elastic_limit;
    if (bound != constraint::none) return bound;
    if (const constraint rate = rate_bound(one); rate != constraint::none) return rate;
    const plain_flow* const first = turns_.first(c);
    const bool waits = find(waiting, one.asked.tag) != nullptr;
    return waits && first != nullptr && first->tenant != one.tenant ? constraint::tenant_turn : constraint::order;
  }

  [[nodiscard]] static constraint budget_constraint(const plain_runs::verdict& verdict) {
    return static_cast<constraint>(static_cast<std::size_t>(constraint::budget_tokens) + verdict.axis);
  }

  /// The classes by priority, ties by the table.
  [[nodiscard]] std::vector<std::size_t> by_priority() const {
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < classes(); ++c) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return rules_.classes[a].priority > rules_.classes[b].priority;
    });
    return order;
  }
  [[nodiscard]] bool above(std::size_t one, std::size_t other) const {
    return rules_.classes[one].priority > rules_.classes[other].priority;
  }
  [[nodiscard]] std::size_t waiting_in(std::size_t c) const {
    return static_cast<std::size_t>(
        std::count_if(waiting.begin(), waiting.end(), [c](const piece& one) { return one.workload() == c; }));
  }

  /// Its place among those that the machine has named; the rest come later.
  [[nodiscard]] std::size_t named_place(std::uint64_t tag) const {
    return static_cast<std::size_t>(std::find(named.begin(), named.end(), tag) - named.begin());
  }

  [[nodiscard]] std::int64_t price_of(model which, std::int64_t input, std::int64_t output) const {
    for (const model_price& each : rules_.prices) {
      if (which.key() == 0 || model(each.name) != which) continue;
      const wide parts = wide{input} * each.input_per_million + wide{output} * each.output_per_million;
      return static_cast<std::int64_t>(parts / 1'000'000 + (parts % 1'000'000 != 0 ? 1 : 0));
    }
    return 0;
  }

  policy rules_;
  bool closed_ = false;
  bool needs_time_ = false;
  instant now_{};
  plain_pause pause_;
  plain_reports reports_;
  plain_retries retries_;
  std::array<std::int64_t, attempt_count> attempts_{};
  std::uint64_t sequences_ = 0;
  std::uint64_t grants_ = 0;
  std::array<class_statistics, max_workloads> counts_{};

  plain_rates rates_;
  plain_tenants tenants_;
  mutable plain_turns turns_;

  service_model services_;
  drain_rate drain_;
  adaptive_limit adaptive_;
  instant adaptive_bound_at_ = instant::min();
  std::array<elastic_cap, max_workloads> elastic_;
  std::array<overload, max_workloads> overloads_;
  pace pace_;
  /// Averages: how long a class's work runs, in the time of an output token, and the time that it is given.
  struct habit {
    double length = 0;
    double time_given = 0;
    std::int64_t most_at_once = unlimited;
  };
  std::array<habit, max_workloads> habits_{};
  /// Whether a class goes by expected cost, and the latest deadline that has come to it since nobody waited there.
  std::array<bool, max_workloads> by_cost_{};
  std::array<instant, max_workloads> latest_deadline_{};

  /// The head that waits for room in the pool, how many have passed it, and since when it has been that head.
  std::optional<std::uint64_t> blocked_;
  std::int64_t passes_ = 0;
  instant blocked_since_{};
  /// When the head that waits for the provider's rate can start.
  instant rate_wake_ = never;
  /// Which classes' next is within the floor and does not start, and since when.
  std::array<bool, max_workloads> lacking_{};
  std::array<instant, max_workloads> lacking_since_{};
};

}  // namespace sluice::core::testing
