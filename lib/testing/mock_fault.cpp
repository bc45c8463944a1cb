#include <sluice/testing/mock_fault.hpp>

#include "testing/openai_wire.hpp"

namespace sluice::testing {

mock_fault mock_fault::status(int code, std::string message) {
  mock_fault fault(kind::status);
  fault.code_ = code;
  fault.message_ = std::move(message);
  return fault;
}

mock_fault mock_fault::rate_limited(std::optional<duration> retry_after) {
  auto fault = status(429);
  if (retry_after) fault.headers_.emplace_back("retry-after", decimal_seconds(*retry_after));
  return fault;
}

mock_fault mock_fault::rate_limited_ms(std::chrono::milliseconds retry_after) {
  auto fault = status(429);
  fault.headers_.emplace_back("retry-after-ms", std::to_string(retry_after.count()));
  return fault;
}

mock_fault mock_fault::quota_exhausted() {
  auto fault = status(429);
  fault.quota_ = true;
  return fault;
}

mock_fault mock_fault::stall() { return mock_fault(kind::stall); }
mock_fault mock_fault::stall_after(std::int64_t tokens) { return mock_fault(kind::stall, tokens); }
mock_fault mock_fault::hang_up() { return mock_fault(kind::hang_up); }
mock_fault mock_fault::hang_up_after(std::int64_t tokens) { return mock_fault(kind::hang_up, tokens); }
mock_fault mock_fault::bad_json(std::int64_t after_tokens) { return mock_fault(kind::bad_json, after_tokens); }
mock_fault mock_fault::html() { return mock_fault(kind::html); }
mock_fault mock_fault::error_event(std::int64_t after_tokens) { return mock_fault(kind::error_event, after_tokens); }
mock_fault mock_fault::no_done() { return mock_fault(kind::no_done); }
mock_fault mock_fault::no_usage() { return mock_fault(kind::no_usage); }
mock_fault mock_fault::crlf() { return mock_fault(kind::crlf); }
mock_fault mock_fault::byte_order_mark() { return mock_fault(kind::byte_order_mark); }

mock_fault mock_fault::with_header(std::string name, std::string value) && {
  headers_.emplace_back(std::move(name), std::move(value));
  return std::move(*this);
}

}  // namespace sluice::testing
