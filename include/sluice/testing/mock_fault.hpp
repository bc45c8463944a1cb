/// \file
/// `mock_fault`: what a mock provider can be told to do wrong.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::testing {

/// One way to fail, or several at once. A plain value, made by the named functions; it knows no dialect: each says it
/// in its own form.
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
    /// An error event in mid-stream and then the end, without end mark; a plain answer becomes an error.
    error_event,
    /// The stream ends in good order, but without its end mark: `[DONE]`, `response.completed` (or another last event),
    /// `message_stop`.
    no_done,
    /// No usage is reported, even when asked for.
    no_usage,
    /// Lines end in CRLF.
    crlf,
    /// A byte order mark before the first event.
    byte_order_mark,
    /// The answer ends without a finish reason, stop reason or status.
    no_finish_reason,
    /// Chat: all calls come in one delta, without index, and their arguments are objects.
    whole_tool_call,
    /// Chat: the usage comes in the chunk that has the finish reason, asked for or not.
    usage_in_last_chunk,
    /// Chat: the reasoning has another name than `reasoning_content`.
    reasoning_field,
    /// Chat: 400 when usage is asked for; else nothing is wrong.
    refuse_stream_options,
    /// The body is gzip-encoded, if the client accepts that. (No fault; but few expect it of a stream.)
    gzip,
    /// The body goes out in pieces of so many bytes, each a chunk and a write of its own.
    split_writes,
    /// The same, one after the other in time.
    slow_drip,
  };

  mock_fault() = default;

  /// An error status. 401, 429, 500, 503, 529 and others get the type and code that the provider gives; `message`
  /// replaces the message.
  [[nodiscard]] static mock_fault status(int code, std::string message = {});
  /// 429; `retry_after` goes into the header of that name, in seconds.
  [[nodiscard]] static mock_fault rate_limited(std::optional<duration> retry_after = std::chrono::seconds(1));
  /// 429 with the header `retry-after-ms`.
  [[nodiscard]] static mock_fault rate_limited_ms(std::chrono::milliseconds retry_after);
  /// 429 `insufficient_quota`, which is not to be retried. Anthropic says it with 400.
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
  [[nodiscard]] static mock_fault error_event(std::int64_t after_tokens = 1, int status = 500,
                                              std::string message = {});
  [[nodiscard]] static mock_fault no_done();
  [[nodiscard]] static mock_fault no_usage();
  [[nodiscard]] static mock_fault crlf();
  [[nodiscard]] static mock_fault byte_order_mark();
  [[nodiscard]] static mock_fault no_finish_reason();
  [[nodiscard]] static mock_fault whole_tool_call();
  [[nodiscard]] static mock_fault usage_in_last_chunk();
  [[nodiscard]] static mock_fault reasoning_field(std::string name = "reasoning");
  [[nodiscard]] static mock_fault refuse_stream_options();
  [[nodiscard]] static mock_fault gzip();
  [[nodiscard]] static mock_fault split_writes(std::size_t bytes = 1);
  /// `every` is real time, whatever the model's. The slot is free as soon as all has been produced.
  [[nodiscard]] static mock_fault slow_drip(duration every, std::size_t bytes = 1);

  /// Both. Of two that end or spoil an answer, `other` counts:
  /// `mock_fault::whole_tool_call().with(mock_fault::no_done())`.
  [[nodiscard]] mock_fault with(const mock_fault& other) &&;
  /// Adds a header to an answer of `status` kind.
  [[nodiscard]] mock_fault with_header(std::string name, std::string value) &&;

  /// The one that ends or spoils the answer, else the first.
  [[nodiscard]] kind what() const noexcept { return kind_; }
  [[nodiscard]] bool has(kind one) const noexcept { return (kinds_ & bit(one)) != 0; }
  /// Of `status` and `error_event`.
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& headers() const noexcept { return headers_; }
  /// Of the kinds that act after n tokens; negative: before the head.
  [[nodiscard]] std::int64_t after_tokens() const noexcept { return after_tokens_; }
  /// 429 whose code is `insufficient_quota`.
  [[nodiscard]] bool is_quota() const noexcept { return quota_; }
  /// Of `reasoning_field`.
  [[nodiscard]] const std::string& field() const noexcept { return field_; }
  /// Of `split_writes` and `slow_drip`.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] duration every() const noexcept { return every_; }

 private:
  explicit mock_fault(kind what, std::int64_t after = -1) : kind_(what), kinds_(bit(what)), after_tokens_(after) {}

  static constexpr std::uint32_t bit(kind one) noexcept {
    return one == kind::none ? 0 : 1U << static_cast<unsigned>(one);
  }
  [[nodiscard]] bool ends_or_spoils() const noexcept;

  kind kind_ = kind::none;
  std::uint32_t kinds_ = 0;
  int code_ = 0;
  bool quota_ = false;
  std::int64_t after_tokens_ = -1;
  std::string message_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string field_;
  std::size_t bytes_ = 0;
  duration every_{};
};

}  // namespace sluice::testing
