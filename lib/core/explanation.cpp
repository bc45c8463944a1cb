// The sentences: what happened, the numbers, and the smallest change that would have made it otherwise.
#include <sluice/core/decision.hpp>

#include "core/grouped.hpp"

#include <chrono>
#include <cstdio>
#include <string>

namespace sluice {
namespace {

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

/// What a bound is counted in.
enum class unit { slot, token, input_token, output_token, request, call, tool_call, money, waiter, attempt };

unit unit_of(constraint bound) noexcept {
  switch (bound) {
    case constraint::pool_tokens:
    case constraint::class_tokens:
    case constraint::protected_tokens:
    case constraint::retry_budget:
    case constraint::reported_tokens:
    case constraint::budget_tokens: return unit::token;
    case constraint::provider_input:
    case constraint::reported_input:
    case constraint::tenant_input: return unit::input_token;
    case constraint::provider_output:
    case constraint::reported_output:
    case constraint::tenant_output: return unit::output_token;
    case constraint::provider_requests:
    case constraint::reported_requests:
    case constraint::tenant_requests: return unit::request;
    case constraint::budget_calls: return unit::call;
    case constraint::budget_tool_calls: return unit::tool_call;
    case constraint::budget_money: return unit::money;
    case constraint::queue:
    case constraint::class_queue: return unit::waiter;
    default: return unit::slot;
  }
}

std::string count(std::int64_t number, unit what) {
  const char* const plural = number == 1 ? "" : "s";
  switch (what) {
    case unit::slot: return grouped(number) + " slot" + plural;
    case unit::token: return grouped(number) + " token" + plural;
    case unit::input_token: return grouped(number) + " input token" + plural;
    case unit::output_token: return grouped(number) + " output token" + plural;
    case unit::request: return grouped(number) + " request" + plural;
    case unit::call: return grouped(number) + " call" + plural;
    case unit::tool_call: return grouped(number) + " tool call" + plural;
    case unit::money: return grouped(number) + " unit" + plural + " of money";
    case unit::attempt: return grouped(number) + (number == 1 ? " retry" : " retries");
    case unit::waiter: break;
  }
  return grouped(number) + " waiter" + plural;
}

std::int64_t asked_of(const decision& what) noexcept {
  switch (unit_of(what.bound)) {
    case unit::slot: return what.asked.slots;
    case unit::token: return what.asked.tokens;
    case unit::input_token: return what.asked.tokens - what.asked.output_tokens;
    case unit::output_token: return what.asked.output_tokens;
    case unit::tool_call:
    case unit::money: return what.available + what.shortfall;
    case unit::request:
    case unit::call:
    case unit::attempt:
    case unit::waiter: break;
  }
  return 1;
}

std::string asked(const decision& what) { return count(asked_of(what), unit_of(what.bound)) + " asked"; }

bool of_provider(constraint bound) noexcept {
  return bound == constraint::provider_requests || bound == constraint::provider_input ||
         bound == constraint::provider_output;
}

bool of_tenant(constraint bound) noexcept {
  return bound == constraint::tenant_requests || bound == constraint::tenant_input ||
         bound == constraint::tenant_output;
}

const char* rate_name(constraint bound) noexcept {
  switch (unit_of(bound)) {
    case unit::input_token: return "rates.input_tokens.burst";
    case unit::output_token: return "rates.output_tokens.burst";
    default: return "rates.requests.burst";
  }
}

/// "raise capacity.tokens by 850". What moves by itself, and a rate's burst, which is a minute's when it is not set,
/// are raised to a value; with `to`, everything is.
std::string raised(const decision& what, const std::string& name, std::int64_t to) {
  const std::string by = to > 0 ? " to " + grouped(to) : " by " + grouped(what.shortfall);
  std::int64_t reached = to;
  if (to == 0 && __builtin_add_overflow(what.limit, what.shortfall, &reached)) reached = unlimited;
  const std::string up_to = " to " + grouped(reached);
  if (of_provider(what.bound)) return std::string("raise ") + rate_name(what.bound) + up_to;
  // A tenant is known by a number alone.
  if (of_tenant(what.bound))
    return std::string("raise ") + rate_name(what.bound) + " of the tenant, or of other_tenants," + up_to;
  switch (what.bound) {
    case constraint::pool_slots:
    case constraint::protected_slots: return "raise capacity.slots" + by;
    case constraint::pool_tokens:
    case constraint::protected_tokens: return "raise capacity.tokens" + by;
    case constraint::class_slots: return "raise classes." + name + ".ceiling.slots" + by;
    case constraint::class_tokens: return "raise classes." + name + ".ceiling.tokens" + by;
    case constraint::queue: return "raise max_waiting" + by;
    case constraint::class_queue: return "raise classes." + name + ".max_waiting" + by;
    case constraint::adaptive_limit: return "raise adaptive.minimum" + up_to;
    case constraint::elastic_limit: return "raise classes." + name + ".elastic.minimum" + up_to;
    case constraint::budget_tokens: return "raise the run's limit.tokens" + by + " (extend_run)";
    case constraint::budget_calls: return "raise the run's limit.calls" + by + " (extend_run)";
    case constraint::budget_tool_calls: return "raise the run's limit.tool_calls" + by + " (extend_run)";
    case constraint::budget_money: return "raise the run's limit.money" + by + " (extend_run)";
    default: return {};
  }
}

/// What stands in the way, with its numbers: "the pool has 900 of 2,000 tokens free, 1,750 tokens asked".
std::string in_the_way(const decision& what, const std::string& name) {
  const std::string has = grouped(what.available);
  const std::string of = count(what.limit, unit_of(what.bound));
  switch (what.bound) {
    case constraint::pool_slots:
    case constraint::pool_tokens: return "the pool has " + has + " of " + of + " free, " + asked(what);
    case constraint::class_slots:
    case constraint::class_tokens:
      return "class " + name + " has " + has + " left of its ceiling of " + of + ", " + asked(what);
    case constraint::protected_slots:
    case constraint::protected_tokens:
      return "all but " + has + " of " + of + " are held or kept for classes under their floor, " + asked(what);
    case constraint::queue:
    case constraint::class_queue: {
      const std::string whose = what.bound == constraint::queue ? std::string("the queue") : "class " + name;
      return what.limit == 0 ? "nothing may wait in " + whose : whose + " has its limit of " + of;
    }
    case constraint::adaptive_limit:
      return "the limit that follows the provider is at " + of + ", " + has + " of them free, " + asked(what);
    case constraint::elastic_limit:
      return "class " + name + " makes room for more urgent work and is at " + of + " for now, " + has +
             " of them free, " + asked(what);
    case constraint::provider_requests:
    case constraint::provider_input:
    case constraint::provider_output:
      return "the provider's rate lets " + has + " of " + of + " through now, " + asked(what);
    case constraint::tenant_requests:
    case constraint::tenant_input:
    case constraint::tenant_output:
      return "the tenant's rate lets " + has + " of " + of + " through now, " + asked(what);
    case constraint::budget_tokens:
    case constraint::budget_calls:
    case constraint::budget_tool_calls:
    case constraint::budget_money: return "the run's budget has " + has + " of " + of + " left, " + asked(what);
    case constraint::provider_pause: return "the provider asked for a pause";
    case constraint::tenant_turn: return "another tenant of the class is served first";
    case constraint::deadline: return "its deadline is too near";
    case constraint::retry_budget:
      return count(static_cast<std::int64_t>(what.ahead), unit::attempt) + " of " +
             count(what.ahead_tokens, unit::token) + " in the window beside " + grouped(what.limit) +
             " of first attempts, " + asked(what);
    case constraint::reported_requests:
    case constraint::reported_input:
    case constraint::reported_output:
    case constraint::reported_tokens:
      return "the provider said that it lets " + has + " of " + of + " through now, " + asked(what);
    case constraint::reopening: return "the provider asked for a pause, and the gate opens again little by little";
    case constraint::order: return "others are served first";
    case constraint::none: break;
  }
  return "nothing is in the way";
}

/// "; it could start in 2 s; raise capacity.tokens by 850": as much of it as is known.
std::string remedy(const decision& what, const std::string& name) {
  std::string text;
  if (what.could_start != never) text += "; it could start in " + seconds(between(what.at, what.could_start));
  const std::string knob = what.shortfall > 0 ? raised(what, name, 0) : std::string();
  return knob.empty() ? text : text + "; " + knob;
}

std::string ahead(const decision& what) {
  std::string text = "at most " + grouped(static_cast<std::int64_t>(what.ahead)) + " ahead";
  return what.ahead == 0 ? text : text + " (" + count(what.ahead_tokens, unit::token) + ")";
}

std::string come_back(const decision& what) {
  return what.could_start == never ? "come back later" : "come back in " + seconds(between(what.at, what.could_start));
}

std::string impossible(const decision& what, const std::string& name) {
  const std::string text = "impossible: " + asked(what);
  const std::string most = count(what.limit, unit_of(what.bound));
  if (of_provider(what.bound) || of_tenant(what.bound)) {
    return text + ", the " + (of_provider(what.bound) ? "provider" : "tenant") + "'s rate never lets more than " +
           most + " through at once; ask for less or " + raised(what, name, asked_of(what));
  }
  const bool of_class = what.bound == constraint::class_slots || what.bound == constraint::class_tokens;
  const std::string whose = of_class ? "class " + name : std::string("the pool");
  // Without the output that it reserved it might have fitted.
  const bool by_output = unit_of(what.bound) == unit::token && what.asked.output_tokens > 0;
  return text + ", " + whose + " holds at most " + most +
         (by_output ? " (max_tokens = " + grouped(what.asked.output_tokens) + "); lower max_tokens"
                    : "; ask for less") +
         " or " + raised(what, name, asked_of(what));
}

std::string too_late(const decision& what, const std::string& name) {
  std::string text = what.could_start == never ? std::string("no earliest start is known")
                                               : "earliest start in " + seconds(between(what.at, what.could_start));
  text += " with " + ahead(what) + " in class " + name;
  if (what.expected_service >= duration::zero()) text += ", then " + seconds(what.expected_service) + " of work";
  text += "; the deadline is in " + seconds(between(what.at, what.deadline)) + "; give it a later one";
  if (what.bound == constraint::deadline) return text + " or ask for less output";
  const bool tokens = what.bound == constraint::pool_tokens || what.bound == constraint::protected_tokens;
  return text + ", raise capacity." + (tokens ? "tokens" : "slots") + " or use a class of higher priority";
}

std::string refusal(const decision& what, const std::string& name) {
  switch (what.reason) {
    case reason::closed: return "the bulkhead is closed; admit before close()";
    case reason::unknown_class: return "the policy has no class " + name + "; add it with policy::add_class";
    case reason::invalid_cost:
      return "slots = " + grouped(what.asked.slots) + ", tokens = " + grouped(what.asked.tokens) +
             ", output_tokens = " + grouped(what.asked.output_tokens) +
             "; none may be negative, and output_tokens is a part of tokens";
    case reason::deadline_passed:
      return "the deadline passed " + seconds(between(what.deadline, what.at)) + " before it came; give it a later one";
    case reason::no_room:
    case reason::rate_limited: return in_the_way(what, name) + remedy(what, name) + "; or wait with admit()";
    case reason::queue_full:
      return in_the_way(what, name) + (what.limit == 0 ? "; " : ", and none of them is worse; ") +
             raised(what, name, 0) + " or " + come_back(what);
    case reason::shed:
      return "after " + seconds(what.waited) + " in class " + name + " it made room in a full queue of " +
             count(what.limit, unit::waiter) + "; " + raised(what, name, 0) + " or ask for less";
    case reason::deadline_in_queue:
      return "the deadline passed after " + seconds(what.waited) + " in class " + name + " with " + ahead(what) + ": " +
             in_the_way(what, name) + remedy(what, name) + "; or give it a later deadline";
    case reason::cancelled: return "the caller cancelled it after " + seconds(what.waited) + " in the queue";
    case reason::infeasible: return too_late(what, name);
    case reason::budget_exhausted: return in_the_way(what, name) + "; " + raised(what, name, 0) + " or ask for less";
    case reason::retry_budget:
      return in_the_way(what, name) + "; try it later, or raise retries.share or retries.minimum";
    case reason::unknown_run: return "its run is not open; open it before its work, and close it after";
    case reason::impossible:
    case reason::none: break;
  }
  return "for no reason";
}

}  // namespace

std::string explain(const decision& what, std::string_view class_name) {
  const std::string name(class_name);
  // Only what would have been decided otherwise runs observed.
  const std::string observed = what.observed ? "observed only, and let through: " : "";
  switch (what.outcome) {
    case outcome::granted:
      if (what.observed) return "let through to class " + name + " holding nothing, because the policy only observes";
      return "granted " + count(what.asked.slots, unit::slot) + " and " + count(what.asked.tokens, unit::token) +
             " to class " + name + " after " + seconds(what.waited) + " (revision " + std::to_string(what.revision) +
             ")";
    case outcome::waiting:
      return observed + "waiting in class " + name + " for " + seconds(what.waited) + " with " + ahead(what) + ": " +
             in_the_way(what, name) + remedy(what, name);
    case outcome::preempted:
      return "preempted: " + count(what.asked.slots, unit::slot) + " and " + count(what.asked.tokens, unit::token) +
             " that class " + name +
             " had borrowed go back to a class of higher priority below its floor; raise classes." + name +
             ".floor or capacity";
    case outcome::rejected: break;
  }
  if (what.reason == reason::impossible) return observed + impossible(what, name);
  return observed + "refused (" + std::string(to_string(what.reason)) + "): " + refusal(what, name);
}

}  // namespace sluice
