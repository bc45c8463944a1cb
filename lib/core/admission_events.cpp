#include "core/admission_state.hpp"
#include "core/saturating.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace sluice::core {
namespace {

/// No exchange can credibly have used more; keeps every sum of holds within 64 bits.
constexpr std::int64_t most_usage = std::int64_t{1} << 40;
constexpr std::int64_t most_slots = std::numeric_limits<std::int32_t>::max();
/// Deadlines beyond this are none: 146 years.
constexpr instant latest_deadline{duration(std::int64_t{1} << 62)};

std::int64_t within(std::int64_t value, std::int64_t most) noexcept { return std::clamp<std::int64_t>(value, 0, most); }

policy checked(policy rules) {
  if (auto ok = validate(rules); !ok) throw error_exception(ok.error());
  return rules;
}

expected<void, error> check_numbers(const progress& how_far, std::int64_t reserved_output) {
  const auto wrong = [](const char* field, std::int64_t value, const std::string& rule) {
    return unexpected<error>(
        error(errc::invalid_argument, std::string("progress.") + field + " = " + std::to_string(value) + ": " + rule));
  };
  const auto out_of_range = [&wrong](const char* field, std::int64_t value) {
    return wrong(field, value, "must be 0 to " + std::to_string(most_usage));
  };
  const auto fits = [](std::int64_t value) { return value >= 0 && value <= most_usage; };
  if (!fits(how_far.input_tokens)) return out_of_range("input_tokens", how_far.input_tokens);
  if (!fits(how_far.output_tokens)) return out_of_range("output_tokens", how_far.output_tokens);
  if (!fits(how_far.margin)) return out_of_range("margin", how_far.margin);
  if (how_far.remaining_output > reserved_output) {
    return wrong("remaining_output", how_far.remaining_output,
                 "is above the reserved output of " + std::to_string(reserved_output));
  }
  return {};
}

}  // namespace

admission::state::state(policy initial) : rules_(checked(std::move(initial))) {
  class_count_ = rules_.classes.size();
  ledger_.configure(rules_);
  sort_classes();
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
}

reason admission::state::objection(const request& what, constraint& bound) const noexcept {
  if (closed_) return reason::closed;
  const std::size_t c = what.workload.index();
  if (c >= rules_.classes.size()) return reason::unknown_class;
  const cost& asked = what.cost;
  if (asked.slots < 0 || asked.tokens < 0 || asked.output_tokens < 0 || asked.output_tokens > asked.tokens)
    return reason::invalid_cost;
  bound = asked.slots > most_slots ? constraint::pool_slots : ledger_.possible(c, {asked.slots, asked.tokens});
  if (bound != constraint::none) return reason::impossible;
  return what.deadline <= now_ ? reason::deadline_passed : reason::none;
}

inline std::uint32_t admission::state::make_ticket(const request& what) {
  const std::uint32_t index = tickets_.take();
  ticket& made = tickets_[index];
  made.tokens = what.cost.tokens;
  made.output = what.cost.output_tokens;
  made.slots = static_cast<std::int32_t>(what.cost.slots);
  made.tag = what.tag;
  made.deadline = what.deadline >= latest_deadline ? never : what.deadline;
  made.workload = what.workload.index();
  if (what.age.sequence != 0 && what.age.sequence < next_sequence_) [[unlikely]] {
    made.sequence = what.age.sequence;
    made.arrived = std::clamp(what.age.arrived, instant{}, now_);
    made.preemptions = what.age.preemptions;
  } else {
    made.sequence = next_sequence_++;
    made.arrived = now_;
    made.preemptions = 0;
  }
  return index;
}

void admission::state::enqueue(std::uint32_t index) {
  ticket& which = tickets_[index];
  if (which.slots == 0) ++slotless_;
  which.state = ticket::phase::waiting;
  ledger_.queue(which.workload, which.asked());
  queue_.push(index);
}

void admission::state::dequeue(std::uint32_t index) {
  const ticket& which = tickets_[index];
  if (which.slots == 0) --slotless_;
  queue_.remove(index);
  ledger_.unqueue(which.workload, which.asked());
}

request_id admission::state::arrive(const request& what, instant now, effects& out) {
  advance(now);
  constraint bound = constraint::none;
  if (const reason why = objection(what, bound); why != reason::none) {
    reject_newcomer(what, why, bound, out);
    if (!queue_.empty()) settle(out);
    return {};
  }
  const bool moved = expire(out);
  const std::uint32_t index = make_ticket(what);
  const request_id id = id_of(index);
  const std::size_t c = what.workload.index();
  if (queue_.empty() && ledger_.room_at_once(c, tickets_[index].asked())) {
    grant_ticket(index);
    out.list.push_back({effect::kind::granted, 0, id, what.tag, {}});
    return id;
  }
  enqueue(index);
  // Nobody fitted before, and one who joins behind others gives nobody room.
  if (moved || queue_.head(c) == index) serve(out);
  if (is(id, ticket::phase::holding)) {
    --counts_[c].admitted_after_wait_total;
  } else {
    if (!what.may_wait) {
      reject_waiter(index, reason::no_room, bound_of(tickets_[index]), out);
      serve(out);
    } else if (shed(index, out)) {
      serve(out);
    }
    if (is(id, ticket::phase::waiting)) next_deadline_ = std::min(next_deadline_, tickets_[index].deadline);
  }
  restore(out);
  ask_for_wake(out);
  return id;
}

request_id admission::state::enter(const request& what, instant now) {
  const cost& asked = what.cost;
  const std::size_t c = what.workload.index();
  // What `objection` and `room` say, in fewer words: nobody waits, and why not need not be told.
  if (!queue_.empty() || closed_ || c >= max_workloads) return {};
  if ((asked.slots | asked.tokens | asked.output_tokens) < 0 || asked.output_tokens > asked.tokens) return {};
  if (asked.slots > most_slots || !ledger_.room_at_once(c, {asked.slots, asked.tokens})) return {};
  if (what.deadline <= std::max(now, now_)) return {};
  advance(now);
  const std::uint32_t index = make_ticket(what);
  grant_ticket(index);
  return id_of(index);
}

bool admission::state::cancel(request_id id, instant now, effects& out) {
  if (!is(id, ticket::phase::waiting)) return false;
  advance(now);
  ++counts_[tickets_[id.index].workload].cancelled_total;
  dequeue(id.index);
  forget(id.index);
  settle(out);
  return true;
}

void admission::state::tick(instant now, effects& out) {
  advance(now);
  armed_ = never;
  next_deadline_ = instant::min();
  settle(out);
}

expected<void, error> admission::state::report(request_id id, const progress& how_far, instant now, effects& out) {
  if (!is(id, ticket::phase::holding)) {
    return unexpected<error>(error(errc::invalid_argument, "reconcile: the permit was already released"));
  }
  const ticket& which = tickets_[id.index];
  grant& held = grants_[which.grant];
  // Without a known split the whole reservation may turn out to be output.
  const bool split = which.output > 0;
  const std::int64_t reserved_output = split ? which.output : which.tokens;
  if (auto ok = check_numbers(how_far, reserved_output); !ok) return ok;
  advance(now);
  if (how_far.input_tokens >= held.used.input_tokens && how_far.output_tokens >= held.used.output_tokens) {
    held.used = {how_far.input_tokens, how_far.output_tokens};
    const std::int64_t produced = how_far.output_tokens + (split ? 0 : how_far.input_tokens);
    const std::int64_t overrun = std::max<std::int64_t>(0, produced - reserved_output);
    std::int64_t hold = (split ? how_far.input_tokens : 0) + std::max(reserved_output, produced);
    if (how_far.remaining_output >= 0) {
      hold = std::min(how_far.remaining_output + how_far.margin, which.tokens) + overrun;
    }
    const std::int64_t change = hold - held.hold;
    held.hold = hold;
    ledger_.resize(which.workload, change);
    if (held.stopping) {
      reclaiming_.tokens += change;
      stopping_[which.workload].tokens += change;
    }
  }
  // Even a hold that has grown may let others start: its class may have lost its place before them.
  if (!queue_.empty()) settle(out);
  return {};
}

void admission::state::set_stoppable(request_id id, bool stoppable, instant now, effects& out) {
  if (!is(id, ticket::phase::holding)) return;
  advance(now);
  const ticket& which = tickets_[id.index];
  grant& held = grants_[which.grant];
  held.stoppable = stoppable;
  if (!stoppable) {
    stoppable_.remove(which.workload, which.grant);
  } else if (may_be_listed(which) && !held.stopping) {
    stoppable_.add(which.workload, which.grant);
  }
  if (!queue_.empty()) settle(out);
}

bool admission::state::may_be_listed(const ticket& which) const noexcept {
  return rules_.classes[which.workload].preemptible && which.preemptions < rules_.max_preemptions;
}

bool admission::state::could_be_preempted(request_id id) const noexcept {
  return is(id, ticket::phase::holding) && may_be_listed(tickets_[id.index]);
}

bool admission::state::finish(request_id id, ending how, const std::optional<usage>& used, instant now, effects& out) {
  if (!is(id, ticket::phase::holding)) return false;
  advance(now);
  const ticket& which = tickets_[id.index];
  const std::size_t c = which.workload;
  grant& held = grants_[which.grant];
  if (used) held.used = {within(used->input_tokens, most_usage), within(used->output_tokens, most_usage)};
  const std::int64_t consumed = held.used.input_tokens + held.used.output_tokens;
  class_statistics& counts = counts_[c];
  add(counts.consumed_tokens_total, consumed);
  if (consumed < which.tokens) {
    add(counts.refunded_tokens_total, which.tokens - consumed);
  } else {
    add(counts.overrun_tokens_total, consumed - which.tokens);
  }
  if (how == ending::preempted) {
    ++counts.preempted_total;
    add(counts.wasted_tokens_total, consumed);
  }
  const capacity returned{which.slots, held.hold};
  if (held.stopping) {
    reclaiming_ = {reclaiming_.slots - returned.slots, reclaiming_.tokens - returned.tokens};
    stopping_[c] = {stopping_[c].slots - returned.slots, stopping_[c].tokens - returned.tokens};
  }
  if (held.listed) stoppable_.remove(c, which.grant);
  ledger_.give(c, returned);
  --counts.in_flight;
  --in_flight_;
  grants_.give(which.grant);
  forget(id.index);
  if (!queue_.empty()) settle(out);
  return true;
}

expected<void, error> admission::state::reconfigure(policy next, instant now, effects& out) {
  if (next.revision <= rules_.revision) {
    return unexpected<error>(error(errc::stale_revision, "revision " + std::to_string(next.revision) +
                                                             " is not newer than revision " + std::to_string(rules_.revision) +
                                                             ", which is in force; raise policy.revision"));
  }
  if (auto ok = validate(next); !ok) return ok;
  if (next.classes.size() != rules_.classes.size()) {
    return unexpected<error>(error(errc::invalid_configuration,
                                   "classes: " + std::to_string(next.classes.size()) + " of them, but the table was fixed at " +
                                       std::to_string(rules_.classes.size()) + "; make a new bulkhead to change it"));
  }
  for (std::size_t c = 0; c < next.classes.size(); ++c) {
    if (next.classes[c].name == rules_.classes[c].name) continue;
    return unexpected<error>(error(errc::invalid_configuration,
                                   "classes[" + std::to_string(c) + "].name: '" + next.classes[c].name +
                                       "', but the table was fixed with '" + rules_.classes[c].name +
                                       "' there; make a new bulkhead to change it"));
  }
  advance(now);
  rules_ = std::move(next);
  ledger_.configure(rules_);
  sort_classes();
  relist_stoppable();
  reject_impossible(out);
  settle(out);
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
  std::vector<std::pair<std::uint32_t, constraint>> gone;
  for (std::size_t c = 0; c < rules_.classes.size(); ++c) {
    for (std::size_t number = 0; number < queue_.size(c); ++number) {
      const std::uint32_t index = queue_.at(c, number);
      if (const constraint bound = ledger_.possible(c, tickets_[index].asked()); bound != constraint::none)
        gone.emplace_back(index, bound);
    }
  }
  for (const auto& [index, bound] : gone) reject_waiter(index, reason::impossible, bound, out);
}

void admission::state::close(instant now, effects& out) {
  advance(now);
  closed_ = true;
  for (std::size_t c = 0; c < rules_.classes.size(); ++c) {
    // From the back, where taking out of the heap moves nothing.
    while (const std::size_t left = queue_.size(c)) reject_waiter(queue_.at(c, left - 1), reason::closed, constraint::none, out);
  }
  ask_for_wake(out);
}

// Here rather than with the others, so that what happens at every request costs no further call.
request_id admission::arrive(const request& what, instant now, effects& out) { return state_->arrive(what, now, out); }
request_id admission::enter(const request& what, instant now) { return state_->enter(what, now); }
bool admission::finish(request_id id, ending how, const std::optional<usage>& used, instant now, effects& out) {
  return state_->finish(id, how, used, now, out);
}

}  // namespace sluice::core
