/// \file
/// `endpoint`: one server and the way to it, shared by a client and its calls.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include "llm/attempts/backoff.hpp"
#include "llm/attempts/cooldown.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/errors/secrets.hpp"
#include "llm/estimates/learned_usage.hpp"
#include "llm/estimates/reservation.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace sluice::llm::detail {

/// What a call asks the gate for, beside its cost and its class.
[[nodiscard]] admit_options admission_of(const request& asked, const call_options& how) noexcept;

class endpoint {
 public:
  /// Throws `error_exception` when the options do not hold.
  endpoint(http::transport& over, bulkhead& gate, client_options options);

  /// What to reserve for a request: what the call says, else the estimate, corrected by what was learned, checked.
  [[nodiscard]] expected<reservation, failure> reserve(const request& asked, const call_options& how) const {
    return detail::reserve(asked, how, options, learned_);
  }

  /// The exchange to send, with its key and limits.
  [[nodiscard]] http::request make(std::string body, bool streamed, instant deadline) const;

  http::transport& over;
  bulkhead& gate;
  const client_options options;
  /// What of them must be seen nowhere.
  const secrets hidden;
  const wire_format& format;
  /// Off once the server has refused to be asked for a stream's usage.
  std::atomic<bool> ask_usage;
  /// How its calls wait, and how all of them stop for a while.
  backoff waits;
  cooldown pool;
  /// Calls that were told to an observer.
  std::atomic<std::uint64_t> calls{0};

 private:
  std::string url_;
  mutable learned_usage learned_;
};

}  // namespace sluice::llm::detail
