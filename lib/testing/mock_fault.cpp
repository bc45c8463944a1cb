#include <sluice/testing/mock_fault.hpp>

#include "testing/wire_time.hpp"

#include <algorithm>

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
mock_fault mock_fault::error_event(std::int64_t after_tokens, int status, std::string message) {
  mock_fault fault(kind::error_event, after_tokens);
  fault.code_ = status;
  fault.message_ = std::move(message);
  return fault;
}
mock_fault mock_fault::no_done() { return mock_fault(kind::no_done); }
mock_fault mock_fault::no_usage() { return mock_fault(kind::no_usage); }
mock_fault mock_fault::crlf() { return mock_fault(kind::crlf); }
mock_fault mock_fault::byte_order_mark() { return mock_fault(kind::byte_order_mark); }

mock_fault mock_fault::no_finish_reason() { return mock_fault(kind::no_finish_reason); }
mock_fault mock_fault::whole_tool_call() { return mock_fault(kind::whole_tool_call); }
mock_fault mock_fault::usage_in_last_chunk() { return mock_fault(kind::usage_in_last_chunk); }
mock_fault mock_fault::gzip() { return mock_fault(kind::gzip); }
mock_fault mock_fault::refuse_stream_options() { return mock_fault(kind::refuse_stream_options); }

mock_fault mock_fault::reasoning_field(std::string name) {
  mock_fault fault(kind::reasoning_field);
  fault.field_ = std::move(name);
  return fault;
}

mock_fault mock_fault::split_writes(std::size_t bytes) {
  mock_fault fault(kind::split_writes);
  fault.bytes_ = std::max<std::size_t>(bytes, 1);
  return fault;
}

mock_fault mock_fault::slow_drip(duration every, std::size_t bytes) {
  mock_fault fault(kind::slow_drip);
  fault.every_ = every;
  fault.bytes_ = std::max<std::size_t>(bytes, 1);
  return fault;
}

bool mock_fault::ends_or_spoils() const noexcept {
  switch (kind_) {
    case kind::status:
    case kind::stall:
    case kind::hang_up:
    case kind::bad_json:
    case kind::html:
    case kind::error_event: return true;
    default: return false;
  }
}

mock_fault mock_fault::with(const mock_fault& other) && {
  if (other.ends_or_spoils() || kind_ == kind::none) {
    if (ends_or_spoils()) kinds_ &= ~bit(kind_);
    kind_ = other.kind_;
    code_ = other.code_;
    quota_ = other.quota_;
    after_tokens_ = other.after_tokens_;
    message_ = other.message_;
  }
  kinds_ |= other.kinds_;
  headers_.insert(headers_.end(), other.headers_.begin(), other.headers_.end());
  if (!other.field_.empty()) field_ = other.field_;
  if (other.bytes_ > 0) {
    bytes_ = other.bytes_;
    every_ = other.every_;
  }
  return std::move(*this);
}

mock_fault mock_fault::with_header(std::string name, std::string value) && {
  headers_.emplace_back(std::move(name), std::move(value));
  return std::move(*this);
}

}  // namespace sluice::testing
