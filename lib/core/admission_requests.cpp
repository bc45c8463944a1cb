// What a request is to the rooms, and how it joins and leaves them.
#include "core/admission_state.hpp"

#include <algorithm>

namespace sluice::core {
namespace {

/// Deadlines beyond this are none: 146 years.
constexpr instant latest_deadline{duration(std::int64_t{1} << 62)};

}  // namespace

candidate admission::state::candidate_of(const request& what) {
  return candidate_for(what, is_plain(what) ? tenant_table::nobody : tenants_.find(what.tenant, now_));
}

candidate admission::state::candidate_for(const request& what, std::uint32_t tenant) const noexcept {
  candidate made;
  made.workload = what.workload.index();
  made.asked = {what.cost.slots, what.cost.tokens};
  made.output = what.cost.output_tokens;
  made.finalising = what.finalising;
  made.model = what.model;
  made.deadline = what.deadline >= latest_deadline ? never : what.deadline;
  made.kind = what.kind;
  if (is_plain(what)) return made;
  made.tenant = tenant;
  if (what.run.generation != 0) made.run = runs_.find(what.run);
  // A cost that makes no sense has no price; it is refused before anybody asks for it.
  const bool priced = made.output >= 0 && made.output <= made.asked.tokens;
  if (priced) made.money = price_of(what.model, made.asked.tokens - made.output, made.output);
  return made;
}

candidate admission::state::candidate_of(std::uint32_t index) const noexcept {
  const ticket& which = tickets_[index];
  candidate made;
  made.workload = which.workload;
  made.asked = which.asked();
  made.output = which.output;
  made.deadline = which.deadline;
  made.kind = which.kind;
  if (!which.detailed) return made;
  const detail& more = detail_of(index);
  made.tenant = more.tenant;
  made.run = more.run;
  made.finalising = more.finalising;
  made.model = more.model;
  made.money = more.money;
  return made;
}

placement admission::state::place_of(std::uint32_t index) const noexcept {
  const ticket& which = tickets_[index];
  if (!which.detailed) return {which.workload, false, which.sequence};
  const detail& more = detail_of(index);
  return {more.flow, more.continuing, more.rank, more.run == no_run ? nowhere : runs_.root_of(more.run)};
}

std::int64_t admission::state::price_of(sluice::model which, std::int64_t input, std::int64_t output) const noexcept {
  if (which.key() == 0 || price_of_model_.size() == 0) return 0;
  const std::uint32_t place = price_of_model_.find(which.key());
  if (place == key_table::none) return 0;
  const model_price& price = rules_.prices[place];
  std::int64_t of_input = 0;
  std::int64_t of_output = 0;
  std::int64_t sum = 0;
  // Almost always within 64 bits, and there a division costs a tenth.
  if (!__builtin_mul_overflow(input, price.input_per_million, &of_input) &&
      !__builtin_mul_overflow(output, price.output_per_million, &of_output) &&
      !__builtin_add_overflow(of_input, of_output, &sum) && !__builtin_add_overflow(sum, 999'999, &sum)) [[likely]]
    return std::min(sum / 1'000'000, largest_pool);
  const wide parts = wide{input} * price.input_per_million + wide{output} * price.output_per_million;
  // Rounded up: a budget is not to be outspent by fractions.
  const wide money = (parts + 999'999) / 1'000'000;
  return static_cast<std::int64_t>(std::min<wide>(money, largest_pool));
}

reason admission::state::objection(const request& what, const candidate& as, constraint& bound) const noexcept {
  if (closed_) return reason::closed;
  const std::size_t c = as.workload;
  if (c >= class_count_) return reason::unknown_class;
  const cost& asked = what.cost;
  if (asked.slots < 0 || asked.tokens < 0 || asked.output_tokens < 0 || asked.output_tokens > asked.tokens)
    return reason::invalid_cost;
  bound = asked.slots > most_slots ? constraint::pool_slots : ledger_.possible(c, as.asked);
  if (bound == constraint::none) bound = impossible_rate(as);
  if (bound != constraint::none) return reason::impossible;
  if (what.deadline <= now_) return reason::deadline_passed;
  if (what.run.generation != 0) {
    if (as.run == no_run) return reason::unknown_run;
    const budget_verdict verdict = runs_.check(as.run, as.price(), as.finalising);
    if (verdict.what == budget_verdict::kind::exhausted) {
      bound = bound_of(verdict);
      return reason::budget_exhausted;
    }
  }
  if (may_be_tried(as)) return reason::none;
  bound = constraint::retry_budget;
  return reason::retry_budget;
}

bool admission::state::can_start_at_once(const candidate& what) const noexcept {
  if (!ledger_.room_at_once(what.workload, what.asked)) return false;
  // Nobody waits.
  if (reopening_.closed(now_) && !reopening_.past_spread(now_)) return false;
  if (rated()) {
    const rate_charge charge = what.charge();
    if (rates_.first_short(charge, now_) != rate_axis::none) return false;
    if (reported_.first_short(charge, now_) != rate_axis::none) return false;
    if (tenants_[what.tenant].rates.first_short(charge, now_) != rate_axis::none) return false;
  }
  return what.run == no_run || runs_.check(what.run, what.price(), what.finalising).what == budget_verdict::kind::ok;
}

std::uint32_t admission::state::make_ticket(const request& what, const candidate& as) {
  const std::uint32_t index = make_plain_ticket(what);
  tickets_[index].deadline = as.deadline;
  if (!is_plain(what)) add_detail(index, what, as);
  return index;
}

void admission::state::add_detail(std::uint32_t index, const request& what, const candidate& as) {
  if (detail_of_.size() < tickets_.size()) detail_of_.resize(tickets_.size());
  const std::uint32_t place = details_.take();
  detail_of_[index] = place;
  tickets_[index].detailed = true;
  detail& made = details_[place];
  made.model = what.model;
  made.who = what.tenant;
  made.tenant = as.tenant;
  made.flow = tenants_.flow_in(as.tenant, as.workload);
  made.run = as.run;
  made.parked_at = no_run;
  made.money = as.money;
  made.finalising = as.finalising;
  made.paid = false;
  // What a run starts beside its own work has no claim to the place of a run that goes on: it would only have to fork.
  const bool goes_on = as.run != no_run && !runs_.under_way(as.run);
  made.rank = goes_on ? runs_.root_rank(as.run) : tickets_[index].sequence;
  made.continuing = goes_on && runs_.started(as.run);
  made.in_tree = false;
  if (as.run != no_run) join_tree(index);
  tenants_.use(as.tenant);
}

void admission::state::drop_detail(std::uint32_t index) noexcept {
  const std::uint32_t place = detail_of_[index];
  tenants_.release(details_[place].tenant);
  details_.give(place);
}

void admission::state::enqueue(std::uint32_t index) {
  ticket& which = tickets_[index];
  const std::size_t c = which.workload;
  which.state = ticket::phase::waiting;
  if (which.slots == 0) ++slotless_;
  demand_[c].slots += which.slots;
  demand_[c].tokens += which.tokens;
  if (needs_time_ && queue_.empty()) drain_.busy(now_, true);
  queue_.push(index, place_of(index));
  if (const std::uint32_t flow = flow_of(index); !flows_[flow].paused) {
    ledger_.queue(c, which.slots, which.tokens);
  } else {
    resume_flow(flow);
  }
  if (queue_.ordered_by_cost(c)) queue_.add_cost(index, expected_cost(index));
}

void admission::state::park(std::uint32_t index, std::uint32_t node) {
  ticket& which = tickets_[index];
  which.state = ticket::phase::waiting;
  if (which.slots == 0) ++slotless_;
  demand_[which.workload].slots += which.slots;
  demand_[which.workload].tokens += which.tokens;
  detail& more = detail_of(index);
  more.parked_at = node;
  runs_.parked(node) = queue_.park(index, more.rank, runs_.parked(node));
}

void admission::state::correct_charges(std::uint32_t index, const usage& used) {
  const ticket& which = tickets_[index];
  flows_.correct(flow_of(index), which.tokens, used.input_tokens + used.output_tokens);
  if (!rated() || which.observed) return;
  // Without a known split all was charged as input.
  const bool split = which.output > 0;
  const std::int64_t input = split ? used.input_tokens : used.input_tokens + used.output_tokens;
  const std::int64_t output = split ? used.output_tokens : 0;
  const auto beyond = [](std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(0, a - b); };
  const std::int64_t reserved_input = which.tokens - which.output;
  const rate_charge back{0, beyond(reserved_input, input), beyond(which.output, output)};
  const rate_charge more{0, beyond(input, reserved_input), beyond(output, which.output)};
  for (rate_cells* const cells : {&rates_, &tenants_[tenant_of(index)].rates}) {
    cells->refund(back, now_);
    cells->take_late(more, now_);
  }
  reported_.correct({1, reserved_input, which.output}, {1, input, output}, grants_[which.grant].since, now_);
  if (!flows_.anybody_paused() || (back.input == 0 && back.output == 0)) return;
  for (const std::uint32_t flow : tenants_[tenant_of(index)].flows) {
    if (flow != nowhere && flows_[flow].paused) resume_flow(flow);
  }
}

}  // namespace sluice::core
