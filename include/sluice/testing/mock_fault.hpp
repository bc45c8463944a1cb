/// \file
/// `mock_fault`: what a mock provider can be told to do wrong.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::testing {

/// One way to fail. A plain value, made by the named functions.
///
/// Faults "after n tokens" act on a streamed answer when n output tokens have been sent (at most all there are); on a
/// plain one they act when as much has been produced, in place of the answer.
class mock_fault {
 public:
  /// The ways.
  enum class kind {
    /// Nothing is wrong.
    none,
    /// An error status with an error body; takes no slot.
    status,
    /// Takes its slot and falls silent, until the client goes away.
    stall,
    /// The connection is closed.
    hang_up,
    /// An event (or the whole plain body) that is not JSON; the rest follows as if nothing had been.
    bad_json,
    /// 200 with an HTML page.
    html,
    /// An error event in mid-stream and then the end, without `[DONE]`; a plain answer becomes a 500.
    error_event,
    /// The stream ends in good order, but without `[DONE]`.
    no_done,
    /// No usage is reported, even when asked for.
    no_usage,
    /// Lines end in CRLF.
    crlf,
    /// A byte order mark before the first event.
    byte_order_mark,
  };

  mock_fault() = default;

  /// An error status. 429, 500, 503, 529 and others get the type and code that OpenAI gives; `message` replaces the
  /// message.
  [[nodiscard]] static mock_fault status(int code, std::string message = {});
  /// 429 `rate_limit_exceeded`; `retry_after` goes into the header of that name, in seconds.
  [[nodiscard]] static mock_fault rate_limited(std::optional<duration> retry_after = std::chrono::seconds(1));
  /// 429 `rate_limit_exceeded` with the header `retry-after-ms`.
  [[nodiscard]] static mock_fault rate_limited_ms(std::chrono::milliseconds retry_after);
  /// 429 `insufficient_quota`, which is not to be retried.
  [[nodiscard]] static mock_fault quota_exhausted();
  /// Never answers at all.
  [[nodiscard]] static mock_fault stall();
  /// Falls silent after n tokens.
  [[nodiscard]] static mock_fault stall_after(std::int64_t tokens);
  /// Closes the connection on arrival, without a head.
  [[nodiscard]] static mock_fault hang_up();
  /// Closes the connection after n tokens; the head has been sent by then.
  [[nodiscard]] static mock_fault hang_up_after(std::int64_t tokens);
  [[nodiscard]] static mock_fault bad_json(std::int64_t after_tokens = 1);
  [[nodiscard]] static mock_fault html();
  [[nodiscard]] static mock_fault error_event(std::int64_t after_tokens = 1);
  [[nodiscard]] static mock_fault no_done();
  [[nodiscard]] static mock_fault no_usage();
  [[nodiscard]] static mock_fault crlf();
  [[nodiscard]] static mock_fault byte_order_mark();

  /// Adds a header to an answer of `status` kind.
  [[nodiscard]] mock_fault with_header(std::string name, std::string value) &&;

  [[nodiscard]] kind what() const noexcept { return kind_; }
  /// Of `status`.
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& headers() const noexcept { return headers_; }
  /// Of the kinds that act after n tokens; negative: before the head.
  [[nodiscard]] std::int64_t after_tokens() const noexcept { return after_tokens_; }
  /// 429 whose code is `insufficient_quota`.
  [[nodiscard]] bool is_quota() const noexcept { return quota_; }

 private:
  explicit mock_fault(kind what, std::int64_t after = -1) : kind_(what), after_tokens_(after) {}

  kind kind_ = kind::none;
  int code_ = 0;
  bool quota_ = false;
  std::int64_t after_tokens_ = -1;
  std::string message_;
  std::vector<std::pair<std::string, std::string>> headers_;
};

}  // namespace sluice::testing
