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
    case constraint::none:
    case constraint::order: break;
  }
  return "capacity";
}

bool about_tokens(constraint bound) noexcept {
  return bound == constraint::pool_tokens || bound == constraint::class_tokens ||
         bound == constraint::protected_tokens;
}

std::string asked_of(const decision& what) {
  return about_tokens(what.bound) ? count(what.asked.tokens, "token") : count(what.asked.slots, "slot");
}

/// What stands in the way, with its numbers: "the pool has 900 of 2,000 tokens free".
std::string in_the_way(const decision& what, const std::string& name) {
  const char* unit = about_tokens(what.bound) ? "token" : "slot";
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
    case constraint::order: return "others are served first";
    case constraint::none: break;
  }
  return "nothing is in the way";
}

std::string remedy(const decision& what, const std::string& name) {
  if (what.bound == constraint::none || what.bound == constraint::order) return {};
  return "; raise " + knob(what.bound, name) + " by " + grouped(what.shortfall);
}

}  // namespace

std::string_view to_string(outcome value) noexcept {
  switch (value) {
    case outcome::granted: return "granted";
    case outcome::waiting: return "waiting";
    case outcome::rejected: return "rejected";
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
