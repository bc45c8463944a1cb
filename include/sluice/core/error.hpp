/// \file
/// `sluice::error`: what went wrong, with the numbers, and what to turn to mend it.
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace sluice {

/// What kind of thing went wrong. Values are stable; each is an `std::error_code` of `error_category()`.
enum class errc {
  /// Never used for a failure: zero means success in `std::error_code`.
  ok = 0,
  /// A setting is wrong; the message names the field.
  invalid_configuration = 1,
  /// A revision that is not newer than the one in force was offered; nothing was changed.
  stale_revision,
  /// The work was turned away by admission control; the message is the rejection's explanation.
  refused,
  /// The permit was taken back for more urgent work, and what ran under it was cancelled.
  preempted,
  /// What was asked makes no sense: a negative number, a permit that was already released, an empty model name.
  invalid_argument,
  /// The caller's deadline passed; the message says during what.
  deadline_exceeded,
  /// The caller cancelled the operation.
  cancelled,
  /// The host name was not found.
  host_not_found,
  /// No connection could be made.
  connect_failed,
  /// The connection was not made within the connect limit.
  connect_timeout,
  /// TLS could not be agreed, or the certificate did not hold.
  tls_failed,
  /// Nothing came back within the first-byte limit.
  first_byte_timeout,
  /// The peer went silent in mid-answer for longer than the idle limit.
  idle_timeout,
  /// The whole exchange took longer than its total limit.
  total_timeout,
  /// The connection ended before the answer did.
  connection_lost,
  /// The answer was larger than the limit allows.
  too_large,
  /// The peer broke its protocol: not HTTP, not SSE, not JSON, or not the JSON of its dialect.
  protocol_error,
  /// The provider said no for a reason of its own (4xx other than the ones below).
  provider_refused,
  /// The provider asked to slow down (429).
  rate_limited,
  /// The provider is overloaded (503, 529).
  overloaded,
  /// The provider failed (5xx), or was not ready for it (408, 409).
  provider_failed,
  /// The key was missing or not accepted (401, 403).
  unauthorized,
  /// The provider's filter turned the request or the answer away.
  content_filtered,
  /// The conversation is longer than the model's context.
  context_too_long,
  /// The account's quota is spent; waiting does not help.
  quota_exhausted,
};

/// The category of `errc`. Its messages are one plain sentence a value.
[[nodiscard]] const std::error_category& error_category() noexcept;

/// Makes `errc` usable as an `std::error_code`.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

/// One failure, whole: `code` for programs, `message` for people. The message is one line and holds what happened,
/// the numbers, and the knob to turn. It never holds a secret. A plain value: copies are independent.
class error {
 public:
  error() = default;
  error(errc code, std::string message) : code_(make_error_code(code)), message_(std::move(message)) {}
  error(std::error_code code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

  /// True when this is the kind `kind`.
  [[nodiscard]] bool is(errc kind) const noexcept { return code_ == make_error_code(kind); }

  friend bool operator==(const error&, const error&) = default;

 private:
  std::error_code code_;
  std::string message_;
};

/// For those who prefer exceptions, and for constructors, which have no other way: carries the same error.
class error_exception : public std::system_error {
 public:
  explicit error_exception(sluice::error why) : std::system_error(why.code(), why.message()), why_(std::move(why)) {}
  [[nodiscard]] const sluice::error& why() const noexcept { return why_; }

 private:
  sluice::error why_;
};

}  // namespace sluice

template <>
struct std::is_error_code_enum<sluice::errc> : std::true_type {};
