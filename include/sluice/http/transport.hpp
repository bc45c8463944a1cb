/// \file
/// `transport`: one HTTP exchange at a time, awaited, with the body as it comes. Implemented over libcurl
/// (`make_curl_transport`), and by a script for tests (`sluice/testing/scripted_transport.hpp`).
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/runtime/stop_signal.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::http {

/// One header line. Names compare without regard to case.
class header {
 public:
  header(std::string name, std::string value) : name_(std::move(name)), value_(std::move(value)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& value() const noexcept { return value_; }

 private:
  std::string name_;
  std::string value_;
};

/// The time limits of one exchange. Each is its own error, so that a failure says where the time went. Zero or
/// negative means no limit. They are measured by the transport's `time_source`.
struct limits {
  /// Name look-up, connection and TLS: `errc::connect_timeout`.
  duration connect = std::chrono::seconds(5);
  /// From the end of connecting to the answer's first byte: `errc::first_byte_timeout`.
  duration first_byte = std::chrono::seconds(600);
  /// Between two bytes of the answer: `errc::idle_timeout`. A reader that does not read does not count as idle.
  duration idle = std::chrono::seconds(60);
  /// The whole exchange: `errc::total_timeout`.
  duration total = duration::zero();
  /// The caller's own deadline: `errc::deadline_exceeded`.
  instant deadline = never;
};

/// What to send. A plain value.
class request {
 public:
  request(std::string method, std::string url) : method_(std::move(method)), url_(std::move(url)) {}

  [[nodiscard]] const std::string& method() const noexcept { return method_; }
  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] const std::vector<header>& headers() const noexcept { return headers_; }
  [[nodiscard]] const std::string& body() const noexcept { return body_; }

  /// Adds a header line. A name or value that holds CR, LF or NUL makes `send` fail with `errc::invalid_argument`.
  request& add_header(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  request& set_body(std::string body) {
    body_ = std::move(body);
    return *this;
  }

  http::limits limits;
  /// Refuse an answer's body beyond this many bytes with `errc::too_large`.
  std::size_t max_body = std::size_t{64} << 20;
  /// Ends the exchange from outside, also while nobody waits for it: a pending `send` or `read`, and every later one,
  /// gives `errc::cancelled`, and the connection's stream is closed at once, on the thread that stops. Unlike a
  /// cancellation it leaves the caller's coroutine alone. One whose end was read is over, and is not stopped any more.
  /// Null for none. One signal may serve several exchanges.
  std::shared_ptr<stop_signal> stop;

 private:
  std::string method_;
  std::string url_;
  std::vector<header> headers_;
  std::string body_;
};

/// When the steps of an exchange were done, by the transport's clock; `never` for what was not, or is not known.
struct exchange_times {
  instant begun = never;
  /// A connection was there. On a kept one: at once.
  instant connected = never;
  instant first_byte = never;
};

/// An answer whose head has arrived and whose body is coming. Destroying it before the end of the body cancels the
/// exchange at once: the connection's stream is closed, since that is what frees the provider's slot.
///
/// Thread safety: one user at a time, on the transport's executor or any other.
/// Lifetime: may outlive the transport; reading then fails with `errc::cancelled`.
class response {
 public:
  response() = default;
  response(const response&) = delete;
  response& operator=(const response&) = delete;
  virtual ~response() = default;

  [[nodiscard]] virtual int status() const noexcept = 0;
  [[nodiscard]] virtual const std::vector<header>& headers() const noexcept = 0;

  /// When the head's steps were done.
  [[nodiscard]] virtual exchange_times times() const noexcept { return {}; }

  /// The first header of that name, compared without regard to case; empty when there is none. Linear in headers.
  [[nodiscard]] std::string_view header_value(std::string_view name) const noexcept;

  /// The next bytes of the body, at least one, as they arrived; an empty string at its end, and from then on always.
  /// Completes when bytes are there, the body has ended, or the exchange has failed.
  /// Cancellation: terminal, partial and total; the exchange is then over, and `errc::cancelled` comes back (as
  /// always with Asio's coroutines, the caller's next `co_await` throws).
  [[nodiscard]] virtual asio::awaitable<expected<std::string, error>> read() = 0;
};

/// Sends requests. An implementation has to honour `request::stop`: what is not stopped runs on, and holds its permit,
/// when a gate wants its capacity back, or its run was closed.
///
/// Thread safety: all members may be called from any thread.
/// Lifetime: destroying it cancels what is running; pending operations complete with `errc::cancelled`.
class transport {
 public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  /// Sends `what` and completes when the answer's head has arrived, whatever its status: a 500 is an answer.
  /// Redirects are not followed.
  /// Cancellation: as `response::read`; the exchange is closed at once, in whatever state it is.
  /// Errors: the `errc` values from `deadline_exceeded` to `protocol_error`; `invalid_argument` for what must not be
  /// sent; `invalid_configuration` for a setting that turns out wrong on the way, such as a proxy's credentials.
  [[nodiscard]] virtual asio::awaitable<expected<std::unique_ptr<response>, error>> send(request what) = 0;
};

/// Reads the rest of the body into one string. Errors and cancellation as `response::read`; `from` may be destroyed
/// afterwards only.
[[nodiscard]] asio::awaitable<expected<std::string, error>> read_all(response& from);

}  // namespace sluice::http
