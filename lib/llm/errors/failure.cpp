#include <sluice/llm/failure.hpp>

namespace sluice::llm {

std::string_view to_string(call_phase value) noexcept {
  switch (value) {
    case call_phase::preparing: return "preparing";
    case call_phase::queued: return "queued";
    case call_phase::sent: return "sent";
    case call_phase::answering: return "answering";
  }
  return "unknown";
}

std::string_view to_string(remedy value) noexcept {
  switch (value) {
    case remedy::try_again: return "try again";
    case remedy::wait_for_capacity: return "wait for capacity";
    case remedy::more_time: return "more time";
    case remedy::change_request: return "change the request";
    case remedy::change_settings: return "change the settings";
    case remedy::none: return "none";
  }
  return "unknown";
}

namespace {

remedy against(reason why) noexcept {
  switch (why) {
    case reason::invalid_cost:
    case reason::impossible: return remedy::change_request;
    case reason::deadline_passed:
    case reason::deadline_in_queue:
    case reason::infeasible: return remedy::more_time;
    case reason::unknown_class:
    case reason::unknown_run:
    case reason::budget_exhausted: return remedy::change_settings;
    case reason::closed:
    case reason::cancelled: return remedy::none;
    default: return remedy::wait_for_capacity;
  }
}

}  // namespace

remedy failure::what_helps() const noexcept {
  if (code().category() != error_category()) return remedy::none;
  switch (static_cast<errc>(code().value())) {
    case errc::refused: return against(refusal ? refusal->reason() : reason::none);
    case errc::preempted: return remedy::wait_for_capacity;
    case errc::deadline_exceeded: return remedy::more_time;
    case errc::invalid_argument:
    case errc::provider_refused:
    case errc::content_filtered:
    case errc::context_too_long:
    case errc::too_large: return remedy::change_request;
    case errc::invalid_configuration:
    case errc::stale_revision:
    case errc::unauthorized:
    case errc::quota_exhausted:
    case errc::host_not_found:
    case errc::tls_failed:
    case errc::protocol_error: return remedy::change_settings;
    case errc::connect_failed:
    case errc::connect_timeout:
    case errc::first_byte_timeout:
    case errc::idle_timeout:
    case errc::total_timeout:
    case errc::connection_lost:
    case errc::rate_limited:
    case errc::overloaded:
    case errc::provider_failed: return remedy::try_again;
    case errc::ok:
    case errc::cancelled: break;
  }
  return remedy::none;
}

}  // namespace sluice::llm
