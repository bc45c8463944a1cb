#include <sluice/core/decision.hpp>

#include <string>

namespace sluice {

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
    case reason::retry_budget: return "retry_budget";
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
    case constraint::budget_tool_calls: return "budget_tool_calls";
    case constraint::budget_money: return "budget_money";
    case constraint::deadline: return "deadline";
    case constraint::retry_budget: return "retry_budget";
    case constraint::reopening: return "reopening";
    case constraint::reported_requests: return "reported_requests";
    case constraint::reported_input: return "reported_input";
    case constraint::reported_output: return "reported_output";
    case constraint::reported_tokens: return "reported_tokens";
  }
  return "unknown";
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
