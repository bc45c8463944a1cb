#include <sluice/core/decision.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace sluice {
namespace {

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t start = digits.front() == '-' ? 1 : 0;
  for (std::size_t place = digits.size(); place > start + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

std::string seconds(duration length) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3g s", std::chrono::duration<double>(length).count());
  return text;
}

/// `late - early`, held at the longest duration: an instant from a caller may be any.
duration between(instant early, instant late) noexcept {
  std::int64_t length = 0;
  const bool overflow =
      __builtin_sub_overflow(late.time_since_epoch().count(), early.time_since_epoch().count(), &length);
  return overflow ? duration::max() : duration(length);
}

std::string count(std::int64_t number, const char* what) {
  return grouped(number) + ' ' + what + (number == 1 ? "" : "s");
}

/// "capacity.tokens", "classes.batch.ceiling.slots": the setting behind a bound.
std::string knob(constraint bound, const std::string& name) {
  switch (bound) {
    case constraint::pool_slots:
    case constraint::protected_slots: return "capacity.slots";
    case constraint::pool_tokens:
    case constraint::protected_tokens: return "capacity.tokens";
    case constraint::class_slots: return "classes." + name + ".ceiling.slots";
    case constraint::class_tokens: return "classes." + name + ".ceiling.tokens";
    case constraint::queue: return "max_waiting";
    case constraint::class_queue: return "classes." + name + ".max_waiting";
    case constraint::adaptive_limit: return "adaptive.minimum";
    case constraint::elastic_limit: return "classes." + name + ".elastic.minimum";
    case constraint::provider_requests: return "rates.requests";
    case constraint::provider_input: return "rates.input_tokens";
    case constraint::provider_output: return "rates.output_tokens";
    case constraint::tenant_requests: return "tenants.rates.requests";
    case constraint::tenant_input: return "tenants.rates.input_tokens";
    case constraint::tenant_output: return "tenants.rates.output_tokens";
    case constraint::budget_tokens: return "run_options.limit.tokens";
    case constraint::budget_calls: return "run_options.limit.calls";
    case constraint::budget_money: return "run_options.limit.money";
    case constraint::none:
    case constraint::order:
    case constraint::tenant_turn:
    case constraint::provider_pause:
    case constraint::deadline: break;
  }
  return "capacity";
}

/// What a bound is counted in.
const char* unit_of(constraint bound) noexcept {
  switch (bound) {
    case constraint::pool_tokens:
    case constraint::class_tokens:
    case constraint::protected_tokens:
    case constraint::budget_tokens: return "token";
    case constraint::provider_input:
    case constraint::tenant_input: return "input token";
    case constraint::provider_output:
    case constraint::tenant_output: return "output token";
    case constraint::provider_requests:
    case constraint::tenant_requests: return "request";
    case constraint::budget_calls: return "call";
    case constraint::budget_money: return "unit";
    case constraint::queue:
    case constraint::class_queue: return "waiter";
    default: return "slot";
  }
}

bool about_tokens(constraint bound) noexcept {
  return bound == constraint::pool_tokens || bound == constraint::class_tokens ||
         bound == constraint::protected_tokens;
}

/// What it asked of the bound. The part of its tokens that is input or output, the split being known or not, is its limit's
/// shortfall and what there was.
std::string asked_of(const decision& what) {
  switch (what.bound) {
    case constraint::pool_tokens:
    case constraint::class_tokens:
    case constraint::protected_tokens:
    case constraint::budget_tokens: return count(what.asked.tokens, "token");
    case constraint::provider_input:
    case constraint::tenant_input: return count(what.asked.tokens - what.asked.output_tokens, "input token");
    case constraint::provider_output:
    case constraint::tenant_output: return count(what.asked.output_tokens, "output token");
    case constraint::provider_requests:
    case constraint::tenant_requests: return "1 request";
    case constraint::budget_calls: return "1 call";
    case constraint::budget_money: return count(what.shortfall + what.available, "unit");
    default: return count(what.asked.slots, "slot");
  }
}

std::string start_of(const decision& what) {
  if (what.could_start == never) return {};
  return "; it could start in " + seconds(between(what.at, what.could_start));
}

/// What stands in the way, with its numbers: "the pool has 900 of 2,000 tokens free".
std::string in_the_way(const decision& what, const std::string& name) {
  const char* unit = unit_of(what.bound);
  switch (what.bound) {
    case constraint::pool_slots:
    case constraint::pool_tokens:
      return "the pool has " + grouped(what.available) + " of " + count(what.limit, unit) + " free";
    case constraint::class_slots:
    case constraint::class_tokens:
      return "class " + name + " has " + grouped(what.available) + " left of its ceiling of " + count(what.limit, unit);
    case constraint::protected_slots:
    case constraint::protected_tokens:
      return "all but " + grouped(what.available) + " of " + count(what.limit, unit) +
             " are held or kept for classes under their floor";
    case constraint::queue:
    case constraint::class_queue: return "the queue holds its limit of " + count(what.limit, "waiter");
    case constraint::adaptive_limit:
      return "the limit that follows the provider is " + count(what.limit, "slot") + ", of which " +
             grouped(what.available) + " are free";
    case constraint::elastic_limit:
      return "class " + name + " makes room for more urgent work: " + grouped(what.available) + " left of its " +
             count(what.limit, "slot") + " for now";
    case constraint::provider_requests:
    case constraint::provider_input:
    case constraint::provider_output:
      return "the provider's rate has " + grouped(what.available) + " of " + count(what.limit, unit) + " a minute left";
    case constraint::provider_pause: return "the provider asked for a pause";
    case constraint::tenant_requests:
    case constraint::tenant_input:
    case constraint::tenant_output:
      return "the tenant's rate has " + grouped(what.available) + " of " + count(what.limit, unit) + " a minute left";
    case constraint::budget_tokens:
    case constraint::budget_calls:
    case constraint::budget_money:
      return "the run's budget has " + grouped(what.available) + " of " + count(what.limit, unit) + " left";
    case constraint::tenant_turn: return "another tenant's turn comes first";
    case constraint::deadline: return "its deadline is too near";
    case constraint::order: return "others are served first";
    case constraint::none: break;
  }
  return "nothing is in the way";
}

std::string remedy(const decision& what, const std::string& name) {
  switch (what.bound) {
    case constraint::none:
    case constraint::order:
    case constraint::tenant_turn:
    case constraint::provider_pause:
    case constraint::deadline: return start_of(what);
    default: break;
  }
  if (what.shortfall == 0) return start_of(what);
  return start_of(what) + "; raise " + knob(what.bound, name) + " by " + grouped(what.shortfall);
}

std::string too_late(const decision& what, const std::string& name) {
  std::string text = "earliest start in " + (what.could_start == never ? std::string("unknown time")
                                                                        : seconds(between(what.at, what.could_start))) +
                     " with at most " + grouped(static_cast<std::int64_t>(what.ahead)) + " ahead in class " + name;
  if (what.expected_service >= duration::zero()) text += ", then " + seconds(what.expected_service) + " of work";
  return text + "; the deadline is in " + seconds(between(what.at, what.deadline)) +
         "; give it a later one, raise capacity.slots or use a class of higher priority";
}

}  // namespace

std::string_view to_string(outcome value) noexcept {
  switch (value) {
    case outcome::granted: return "granted";
    case outcome::waiting: return "waiting";
    case outcome::rejected: return "rejected";
    case outcome::preempted: return "preempted";
  }
  return "unknown";
}

std::string_view to_string(reason value) noexcept {
  switch (value) {
    case reason::none: return "none";
    case reason::closed: return "closed";
    case reason::unknown_class: return "unknown_class";
    case reason::invalid_cost: return "invalid_cost";
    case reason::impossible: return "impossible";
    case reason::deadline_passed: return "deadline_passed";
    case reason::no_room: return "no_room";
    case reason::queue_full: return "queue_full";
    case reason::shed: return "shed";
    case reason::deadline_in_queue: return "deadline_in_queue";
    case reason::cancelled: return "cancelled";
    case reason::infeasible: return "infeasible";
    case reason::budget_exhausted: return "budget_exhausted";
    case reason::rate_limited: return "rate_limited";
    case reason::unknown_run: return "unknown_run";
  }
  return "unknown";
}

std::string_view to_string(constraint value) noexcept {
  switch (value) {
    case constraint::none: return "none";
    case constraint::pool_slots: return "pool_slots";
    case constraint::pool_tokens: return "pool_tokens";
    case constraint::class_slots: return "class_slots";
    case constraint::class_tokens: return "class_tokens";
    case constraint::protected_slots: return "protected_slots";
    case constraint::protected_tokens: return "protected_tokens";
    case constraint::order: return "order";
    case constraint::queue: return "queue";
    case constraint::class_queue: return "class_queue";
    case constraint::adaptive_limit: return "adaptive_limit";
    case constraint::elastic_limit: return "elastic_limit";
    case constraint::provider_requests: return "provider_requests";
    case constraint::provider_input: return "provider_input";
    case constraint::provider_output: return "provider_output";
    case constraint::provider_pause: return "provider_pause";
    case constraint::tenant_requests: return "tenant_requests";
    case constraint::tenant_input: return "tenant_input";
    case constraint::tenant_output: return "tenant_output";
    case constraint::tenant_turn: return "tenant_turn";
    case constraint::budget_tokens: return "budget_tokens";
    case constraint::budget_calls: return "budget_calls";
    case constraint::budget_money: return "budget_money";
    case constraint::deadline: return "deadline";
  }
  return "unknown";
}

std::string explain(const decision& what, std::string_view class_name) {
  const std::string name(class_name);
  if (what.outcome == outcome::granted) {
    return "granted " + count(what.asked.slots, "slot") + " and " + count(what.asked.tokens, "token") + " to class " + name +
           " after " + seconds(what.waited) + " (revision " + std::to_string(what.revision) + ")";
  }
  if (what.outcome == outcome::waiting) {
    return "waiting for " + seconds(what.waited) + " with at most " + grouped(static_cast<std::int64_t>(what.ahead)) +
           " ahead in class " + name + ": " + in_the_way(what, name) + ", " + asked_of(what) + " asked" +
           remedy(what, name);
  }
  if (what.outcome == outcome::preempted) {
    return "preempted: " + count(what.asked.slots, "slot") + " and " + count(what.asked.tokens, "token") + " of class " + name +
           " go back to a class of higher priority that is below its floor; raise classes." + name + ".floor or capacity";
  }
  const std::string refused = "refused (" + std::string(to_string(what.reason)) + "): ";
  switch (what.reason) {
    case reason::closed: return refused + "the bulkhead is closed; admit before close()";
    case reason::unknown_class: return refused + "the policy has no class " + name + "; add it with policy::add_class";
    case reason::invalid_cost:
      return refused + "slots = " + grouped(what.asked.slots) + ", tokens = " + grouped(what.asked.tokens) +
             ", output_tokens = " + grouped(what.asked.output_tokens) +
             "; none may be negative, and output_tokens is a part of tokens";
    case reason::impossible: {
      const bool of_class = what.bound == constraint::class_slots || what.bound == constraint::class_tokens;
      return "impossible: " + asked_of(what) + " asked, " + (of_class ? "class " + name : std::string("the pool")) +
             " holds at most " + grouped(what.limit) + "; ask for less" +
             (about_tokens(what.bound) ? " (lower max_tokens)" : "") + " or raise " + knob(what.bound, name);
    }
    case reason::deadline_passed:
      return refused + "the deadline passed " + seconds(between(what.deadline, what.at)) +
             " before it came; give it a later one";
    case reason::no_room:
      return refused + in_the_way(what, name) + ", " + asked_of(what) + " asked" + remedy(what, name) +
             ", or wait with admit()";
    case reason::queue_full:
      return refused + in_the_way(what, name) + ", and none of them is worse; raise " + knob(what.bound, name) +
             " or come back later";
    case reason::shed:
      return refused + "after " + seconds(what.waited) + " in class " + name + " it made room in a full queue of " +
             count(what.limit, "waiter") + "; raise " + knob(what.bound, name) + " or ask for less";
    case reason::deadline_in_queue:
      return refused + "the deadline passed after " + seconds(what.waited) + " in the queue, at most " +
             grouped(static_cast<std::int64_t>(what.ahead)) + " ahead in class " + name + ": " + in_the_way(what, name) + ", " +
             asked_of(what) + " asked" + remedy(what, name) + " or give it a later deadline";
    case reason::cancelled:
      return refused + "the caller cancelled it after " + seconds(what.waited) + " in the queue";
    case reason::infeasible: return refused + too_late(what, name);
    case reason::budget_exhausted:
      return refused + in_the_way(what, name) + ", " + asked_of(what) + " asked; raise " + knob(what.bound, name) + " by " +
             grouped(what.shortfall) + " (extend_run) or ask for less";
    case reason::rate_limited:
      return refused + in_the_way(what, name) + ", " + asked_of(what) + " asked" + remedy(what, name) +
             ", or wait with admit()";
    case reason::unknown_run: return refused + "its run is not open (any longer); open it before, and close it after its work";
    case reason::none: break;
  }
  return refused + "for no reason";
}

struct rejection::record {
  decision what;
  std::string class_name;
};

rejection::rejection(const decision& what, std::string_view class_name)
    : record_(std::make_unique<record>(record{what, std::string(class_name)})) {}
rejection::rejection(const rejection& other) : record_(std::make_unique<record>(*other.record_)) {}
rejection& rejection::operator=(const rejection& other) {
  if (this != &other) record_ = std::make_unique<record>(*other.record_);
  return *this;
}
rejection::rejection(rejection&&) noexcept = default;
rejection& rejection::operator=(rejection&&) noexcept = default;
rejection::~rejection() = default;

reason rejection::reason() const noexcept { return record_->what.reason; }
const decision& rejection::details() const noexcept { return record_->what; }
std::string_view rejection::class_name() const noexcept { return record_->class_name; }
std::string rejection::explain() const { return sluice::explain(record_->what, record_->class_name); }
error rejection::to_error() const { return {errc::refused, explain()}; }

}  // namespace sluice
