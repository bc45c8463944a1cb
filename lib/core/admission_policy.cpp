// The policy coming into force, at first and later, and the end of it all.
#include "core/admission_state.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace sluice::core {
namespace {

policy checked(policy rules) {
  if (auto ok = validate(rules); !ok) throw error_exception(ok.error());
  return rules;
}

error other_table(std::size_t c, const std::string& next, const std::string& now) {
  return {errc::invalid_configuration, "classes[" + std::to_string(c) + "].name: '" + next +
                                           "', but the table was fixed with '" + now +
                                           "' there; make a new bulkhead to change it"};
}

}  // namespace

admission::state::state(policy initial) : rules_(checked(std::move(initial))), services_(rules_.classes.size()) {
  class_count_ = rules_.classes.size();
  lacking_since_.fill(never);
  for (std::size_t c = 0; c < max_workloads; ++c) static_cast<void>(tenants_.flow_in(tenant_table::nobody, c));
  put_in_force();
}

void admission::state::put_in_force() {
  ledger_.configure(rules_);
  sort_classes();
  rates_.configure(rules_.rates, now_);
  reported_.configure(rules_.rates);
  reopening_.configure(rules_.reopening);
  retries_.configure(rules_.retries);
  tenants_.configure(rules_, now_);
  const auto limited = [](const tenant_policy& each) { return each.rates != rate_limits{}; };
  tenant_rates_ = limited(rules_.other_tenants) || std::ranges::any_of(rules_.tenants, limited);
  price_of_model_ = key_table{};
  for (std::uint32_t n = 0; n < rules_.prices.size(); ++n)
    price_of_model_.insert(model(rules_.prices[n].name).key(), n);
  records_.resize(rules_.explain_records);
  adaptive_.configure(rules_.adaptive, rules_.total.slots);
  if (adaptive_.enabled()) ledger_.limit_slots(adaptive_.limit());
  elastic_classes_ = 0;
  for (std::size_t c = 0; c < class_count_; ++c) {
    const class_policy& each = rules_.classes[c];
    overloads_[c].configure(rules_.overload);
    elastic_[c].configure(each.elastic, std::min(each.ceiling.slots, rules_.total.slots));
    if (each.elastic.enabled) elastic_classes_ |= 1U << c;
    renew_pace(c);
    limit_class(c);
    flows_.stir(c);
  }
  const bool promises = std::ranges::any_of(
      rules_.classes, [](const class_policy& each) { return each.start_within > duration::zero(); });
  heads_change_ = rules_.feasibility.enabled || tenant_rates_ || promises;
  needs_time_ = promises || rules_.feasibility.enabled || rules_.overload.enabled || rules_.adaptive.enabled ||
                rates_.limited() || tenant_rates_ || elastic_classes_ != 0;
}

void admission::state::sort_classes() noexcept {
  const auto end = by_priority_.begin() + static_cast<std::ptrdiff_t>(rules_.classes.size());
  std::iota(by_priority_.begin(), end, std::uint8_t{0});
  // Insertion sort: stable and without allocation, for at most sixteen.
  for (auto place = by_priority_.begin(); place != end; ++place) {
    const auto where = std::upper_bound(by_priority_.begin(), place, *place, [this](std::uint8_t a, std::uint8_t b) {
      return rules_.classes[a].priority > rules_.classes[b].priority;
    });
    std::rotate(where, place, place + 1);
  }
  above_ = {};
  for (std::size_t c = 0; c < rules_.classes.size(); ++c) {
    for (std::size_t other = 0; other < rules_.classes.size(); ++other) {
      if (rules_.classes[other].priority > rules_.classes[c].priority) above_[c] |= 1U << other;
    }
  }
}

expected<void, error> admission::state::reconfigure(policy next, instant now, effects& out) {
  if (next.revision <= rules_.revision) {
    return unexpected<error>(error(errc::stale_revision,
                                   "revision " + std::to_string(next.revision) + " is not newer than revision " +
                                       std::to_string(rules_.revision) + ", which is in force; raise policy.revision"));
  }
  if (auto ok = validate(next); !ok) return ok;
  if (next.classes.size() != rules_.classes.size()) {
    return unexpected<error>(error(errc::invalid_configuration, "classes: " + std::to_string(next.classes.size()) +
                                                                    " of them, but the table was fixed at " +
                                                                    std::to_string(rules_.classes.size()) +
                                                                    "; make a new bulkhead to change it"));
  }
  for (std::size_t c = 0; c < next.classes.size(); ++c) {
    if (next.classes[c].name == rules_.classes[c].name) continue;
    return unexpected<error>(other_table(c, next.classes[c].name, rules_.classes[c].name));
  }
  advance(now);
  rules_ = std::move(next);
  // Whoever waits for a rate may not have to any more.
  resume_all_flows();
  put_in_force();
  relist_stoppable();
  reject_impossible(out);
  for (std::size_t c = 0; c < class_count_; ++c) watch_overload(c);
  settle(out);
  if (rules_.observe) let_all_through(out);
  return {};
}

// A class may have become preemptible, or ceased to be; permits are few beside waiters, and this is rare.
void admission::state::relist_stoppable() noexcept {
  for (std::uint32_t index = 0; index < tickets_.size(); ++index) {
    const ticket& which = tickets_[index];
    if (which.state != ticket::phase::holding) continue;
    const grant& held = grants_[which.grant];
    stoppable_.remove(which.workload, which.grant);
    if (held.stoppable && !held.stopping && may_be_listed(which)) stoppable_.add(which.workload, which.grant);
  }
}

void admission::state::reject_impossible(effects& out) {
  for (std::uint32_t index = 0; index < tickets_.size() && !queue_.empty(); ++index) {
    if (tickets_[index].state != ticket::phase::waiting) continue;
    const candidate what = candidate_of(index);
    constraint bound = ledger_.possible(what.workload, what.asked);
    if (bound == constraint::none) bound = impossible_rate(what);
    if (bound == constraint::none) continue;
    if (rules_.observe) {
      let_through(index, reason::impossible, bound, out);
    } else {
      reject_waiter(index, reason::impossible, bound, out);
    }
  }
}

void admission::state::let_all_through(effects& out) {
  for (std::uint32_t index = 0; index < tickets_.size() && !queue_.empty(); ++index) {
    if (tickets_[index].state == ticket::phase::waiting) let_through(index, reason::none, bound_of(index), out);
  }
  ask_for_wake(out);
}

void admission::state::close(instant now, effects& out) {
  advance(now);
  closed_ = true;
  for (std::uint32_t index = 0; index < tickets_.size() && !queue_.empty(); ++index) {
    if (tickets_[index].state == ticket::phase::waiting) reject_waiter(index, reason::closed, constraint::none, out);
  }
  ask_for_wake(out);
}

}  // namespace sluice::core
