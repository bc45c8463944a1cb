#include "core/admission_state.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace sluice::core {
namespace {

std::int64_t within(std::int64_t value, std::int64_t most) noexcept { return std::clamp<std::int64_t>(value, 0, most); }

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

request_id admission::state::arrive(const request& what, instant now, effects& out) {
  advance(now);
  if (!pending_.empty()) flush_thresholds(out);
  const std::size_t c = what.workload.index();
  const candidate as = candidate_of(what);
  if (c < class_count_) {
    if (as.deadline != never) count_arrival(c, std::max(as.deadline, instant{}) - now_);
    if (counts_[c].overloaded) watch_overload(c);
  }
  constraint bound = constraint::none;
  if (const reason why = objection(what, as, bound); why != reason::none) {
    const bool by_policy = why == reason::impossible || why == reason::budget_exhausted || why == reason::retry_budget;
    if (rules_.observe && by_policy) {
      const std::uint32_t index = make_ticket(what, as);
      const request_id id = id_of(index);
      let_through(index, why, bound, out);
      return id;
    }
    reject_newcomer(what, as, why, bound, out);
    if (!queue_.empty()) settle(out);
    return {};
  }
  bool moved = expire(out);
  if (is_elastic(c) && elastic_[c].next_update() <= now_) moved = move_limits(out) || moved;
  const std::uint32_t index = make_ticket(what, as);
  const request_id id = id_of(index);
  if (what.kind != attempt::first) reserve_repeat(index);
  if (queue_.empty() && can_start_at_once(as) && !hopeless(index)) {
    if (as.run != no_run) static_cast<void>(pay(index));
    charge_start(index);
    grant_ticket(index);
    out.list.push_back({effect::kind::granted, 0, id, what.tag, {}});
    if (moved) {
      finish_event(out);
    } else if (!pending_.empty()) {
      flush_thresholds(out);
    }
    return id;
  }
  await_turn(index, as, what.may_wait, moved, out);
  finish_event(out);
  return id;
}

void admission::state::await_turn(std::uint32_t index, const candidate& as, bool may_wait, bool moved, effects& out) {
  const request_id id = id_of(index);
  const std::size_t c = tickets_[index].workload;
  if (rules_.observe && hopeless(index)) {
    let_through(index, reason::infeasible, constraint::deadline, out);
    return;
  }
  const budget_verdict verdict = as.run == no_run ? budget_verdict{} : pay(index);
  if (verdict.what == budget_verdict::kind::wait) {
    park(index, verdict.node);
  } else {
    enqueue(index);
  }
  // Nobody fitted before, and one who joins behind others gives nobody room.
  const bool is_next = (queue_.waiting_classes() >> c & 1U) != 0 && next_of(c) == index;
  if (moved || ledger_.free().slots > 0 || slotless_ != 0 || is_next) serve(out);
  if (is(id, ticket::phase::holding)) {
    --counts_[c].admitted_after_wait_total;
    return;
  }
  if (!is(id, ticket::phase::waiting)) return;
  if (rules_.observe) {
    let_through(index, reason::none, bound_of(index, as), out);
    return;
  }
  if (!may_wait) {
    const constraint bound = bound_of(index, as);
    reject_waiter(index, is_rate(bound) ? reason::rate_limited : reason::no_room, bound, out);
    serve(out);
  } else if (cannot_make_it(index, as)) {
    reject_waiter(index, reason::infeasible, bound_of(index, as), out);
    serve(out);
  } else if (shed(index, out)) {
    serve(out);
  }
  if (!is(id, ticket::phase::waiting)) return;
  latest_deadline_[c] = std::max(latest_deadline_[c], tickets_[index].deadline);
  record_wait(index, as);
}

request_id admission::state::enter(const request& what, instant now) {
  const cost& asked = what.cost;
  const std::size_t c = what.workload.index();
  // What `objection` and `room` say, in fewer words: nobody waits, and why not need not be told.
  if (!queue_.empty() || closed_ || c >= class_count_) return {};
  // Its ceiling may have to move first.
  if (is_elastic(c) && elastic_[c].may_fall(std::max(now, now_))) return {};
  if ((asked.slots | asked.tokens | asked.output_tokens) < 0 || asked.output_tokens > asked.tokens) return {};
  if (asked.slots > most_slots || !ledger_.room_at_once(c, {asked.slots, asked.tokens})) return {};
  if (what.deadline <= std::max(now, now_)) return {};
  const bool hindered = rated() || reopening_.active();
  if (is_plain(what) && what.kind == attempt::first && !hindered && what.deadline == never) [[likely]] {
    advance(now);
    const std::uint32_t index = make_plain_ticket(what);
    flows_.serve(static_cast<std::uint32_t>(c), asked.tokens);
    count_attempt(index);
    grant_ticket(index);
    return id_of(index);
  }
  const instant before = now_;
  advance(now);
  const candidate as = candidate_of(what);
  if (!can_start_at_once(as) || !may_be_tried(as) || (what.run.generation != 0 && as.run == no_run) ||
      (what.deadline != never && !in_time(as))) {
    // Nothing has happened: `arrive` will say what.
    now_ = before;
    return {};
  }
  const std::uint32_t index = make_ticket(what, as);
  if (what.kind != attempt::first) reserve_repeat(index);
  if (as.run != no_run) static_cast<void>(pay(index));
  charge_start(index);
  grant_ticket(index);
  return id_of(index);
}

bool admission::state::cancel(request_id id, instant now, effects& out) {
  if (!is(id, ticket::phase::waiting)) return false;
  advance(now);
  ++counts_[tickets_[id.index].workload].cancelled_total;
  dequeue(id.index);
  release_reserved(id.index, out);
  forget(id.index);
  settle(out);
  return true;
}

void admission::state::tick(instant now, effects& out) {
  advance(now);
  armed_ = never;
  if (rules_.overload.enabled) {
    for (std::size_t c = 0; c < class_count_; ++c) watch_overload(c);
  }
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
  // What is only observed has reserved nothing, and may say that anything remains.
  const std::int64_t most_remaining = which.observed ? std::numeric_limits<std::int64_t>::max() : reserved_output;
  if (auto ok = check_numbers(how_far, most_remaining); !ok) return ok;
  advance(now);
  if (how_far.input_tokens >= held.used.input_tokens && how_far.output_tokens >= held.used.output_tokens) {
    if (held.used.output_tokens == 0 && how_far.output_tokens > 0) note_first_token(id.index);
    held.used = {how_far.input_tokens, how_far.output_tokens};
    if (!which.observed) {
      const std::int64_t produced = how_far.output_tokens + (split ? 0 : how_far.input_tokens);
      const std::int64_t overrun = std::max<std::int64_t>(0, produced - reserved_output);
      std::int64_t hold = (split ? how_far.input_tokens : 0) + std::max(reserved_output, produced);
      if (how_far.remaining_output >= 0) {
        hold = std::min(how_far.remaining_output + how_far.margin, which.tokens) + overrun;
      }
      change_hold(id.index, hold);
    }
  }
  // Even a hold that has grown may let others start: its class may have lost its place before them.
  if (!queue_.empty()) settle(out);
  return {};
}

void admission::state::change_hold(std::uint32_t index, std::int64_t hold) noexcept {
  const ticket& which = tickets_[index];
  grant& held = grants_[which.grant];
  const std::int64_t change = hold - held.hold;
  held.hold = hold;
  ledger_.resize(which.workload, change);
  if (held.stopping) {
    reclaiming_.tokens += change;
    stopping_[which.workload].tokens += change;
  }
  if (needs_time_ && change < 0) drain_.released(0, -change, now_, !queue_.empty());
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
  const bool known = used.has_value() || consumed > 0;
  if (known) correct_charges(id.index, held.used);
  if (needs_time_) {
    if (used && how == ending::released) learn(id.index, held, out);
    drain_.released(returned.slots, returned.tokens, now_, !queue_.empty());
  }
  if (which.detailed) {
    const detail& more = detail_of(id.index);
    spending cost{.tokens = which.tokens, .calls = 1, .money = more.money};
    if (known) {
      cost.tokens = consumed;
      cost.money = price_of(more.model, held.used.input_tokens, held.used.output_tokens);
    }
    settle_price(id.index, cost, out);
  }
  grants_.give(which.grant);
  forget(id.index);
  if (!queue_.empty()) settle(out);
  return true;
}

// Here rather than with the others, so that what happens at every request costs no further call.
request_id admission::arrive(const request& what, instant now, effects& out) {
  if (log_ != nullptr) [[unlikely]]
    return arrive_logged(what, now, out);
  return state_->arrive(what, now, out);
}
request_id admission::enter(const request& what, instant now) {
  if (log_ != nullptr) [[unlikely]]
    return enter_logged(what, now);
  return state_->enter(what, now);
}
bool admission::finish(request_id id, ending how, const std::optional<usage>& used, instant now, effects& out) {
  if (log_ != nullptr) [[unlikely]]
    return finish_logged(id, how, used, now, out);
  return state_->finish(id, how, used, now, out);
}

}  // namespace sluice::core
