#include <sluice/llm/attempt_record.hpp>

#include "llm/errors/quote.hpp"

#include <cstdio>

namespace sluice::llm {

namespace {

std::string seconds(duration length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", std::chrono::duration<double>(length).count());
  return text;
}

std::string name_of(workload which) {
  if (which == interactive) return "interactive";
  if (which == batch) return "batch";
  return "class " + std::to_string(which.index());
}

std::string name_of(const std::error_code& code) {
  if (code.category() != error_category()) return quote(code.message(), {});
  switch (static_cast<errc>(code.value())) {
    case errc::ok: return "ok";
    case errc::invalid_configuration: return "invalid_configuration";
    case errc::stale_revision: return "stale_revision";
    case errc::refused: return "refused";
    case errc::preempted: return "preempted";
    case errc::invalid_argument: return "invalid_argument";
    case errc::deadline_exceeded: return "deadline_exceeded";
    case errc::cancelled: return "cancelled";
    case errc::host_not_found: return "host_not_found";
    case errc::connect_failed: return "connect_failed";
    case errc::connect_timeout: return "connect_timeout";
    case errc::tls_failed: return "tls_failed";
    case errc::first_byte_timeout: return "first_byte_timeout";
    case errc::idle_timeout: return "idle_timeout";
    case errc::total_timeout: return "total_timeout";
    case errc::connection_lost: return "connection_lost";
    case errc::too_large: return "too_large";
    case errc::protocol_error: return "protocol_error";
    case errc::provider_refused: return "provider_refused";
    case errc::rate_limited: return "rate_limited";
    case errc::overloaded: return "overloaded";
    case errc::provider_failed: return "provider_failed";
    case errc::unauthorized: return "unauthorized";
    case errc::content_filtered: return "content_filtered";
    case errc::context_too_long: return "context_too_long";
    case errc::quota_exhausted: return "quota_exhausted";
  }
  return "error " + std::to_string(code.value());
}

}  // namespace

std::string to_line(const attempt_record& what) {
  std::string line = "call " + std::to_string(what.call) + " attempt " + std::to_string(what.number) + " (" +
                     std::string(to_string(what.kind)) + ") " + quote(what.model, {}) + ' ' + name_of(what.workload) +
                     ": " + (what.code ? name_of(what.code) : "ok");
  if (what.status != 0) line += ' ' + std::to_string(what.status);
  if (what.queued != never && what.ended != never) line += " after " + seconds(what.ended - what.queued);
  if (what.admitted == never) {
    line += " (not admitted)";
  } else if (what.queued != never) {
    line += " (queued " + seconds(what.admitted - what.queued) + ")";
  }
  if (what.usage.total().input_tokens != 0 || what.usage.total().output_tokens != 0) {
    line += ", " + std::to_string(what.usage.input_tokens) + " in " + std::to_string(what.usage.output_tokens) + " out";
    if (what.usage.estimated) line += " (estimated)";
  }
  if (what.again_in) line += ", again in " + seconds(*what.again_in);
  if (!what.request_id.empty()) line += ", request-id " + quote(what.request_id, {});
  return line;
}

}  // namespace sluice::llm
