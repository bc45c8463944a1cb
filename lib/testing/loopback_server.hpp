/// \file
/// An HTTP/1.1 server on 127.0.0.1 that leaves every byte of an answer to its user. The only place that knows RESTinio.
#pragma once

#include <sluice/http/transport.hpp>

#include <asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::testing {

/// The answer to one request, written piece by piece. What is written waits for `flush`, `end`, `whole` or `hang_up`.
/// Dropping it unfinished leaves the client waiting. On a connection that is gone, writing does nothing.
class loopback_answer {
 public:
  /// Told once whether the last byte was handed to the operating system. Never from within the call that takes it.
  using delivered = std::function<void(bool)>;

  loopback_answer() = default;
  loopback_answer(const loopback_answer&) = delete;
  loopback_answer& operator=(const loopback_answer&) = delete;
  virtual ~loopback_answer() = default;

  /// The head of an answer whose body comes in chunks.
  virtual void start(int status, const std::vector<http::header>& headers) = 0;
  virtual void chunk(std::string_view bytes) = 0;
  virtual void flush() = 0;
  /// After `start`: the last chunk.
  virtual void end(delivered then) = 0;

  /// An answer in one piece.
  virtual void whole(int status, const std::vector<http::header>& headers, std::string_view body, delivered then) = 0;
  /// The first bytes of an answer of `length` bytes, which never comes to its end.
  virtual void torn(int status, const std::vector<http::header>& headers, std::string_view body,
                    std::size_t length) = 0;

  /// Closes the connection when what was written is out.
  virtual void hang_up() = 0;
};

/// One request, arrived whole.
struct loopback_request {
  std::string method;
  std::string target;
  std::vector<http::header> headers;
  std::string body;
  std::uint64_t connection = 0;
  std::unique_ptr<loopback_answer> answer;
};

/// What the server reports, on the thread that runs its `io_context`. A connection that the peer closed is reported at
/// once, also while an answer is pending; `on_closed` may be called from within a write.
struct loopback_events {
  std::function<void(loopback_request)> on_request;
  std::function<void(std::uint64_t connection)> on_opened;
  std::function<void(std::uint64_t connection)> on_closed;
};

class loopback_server {
 public:
  virtual ~loopback_server() = default;
  [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
};

/// Listens on `port` (zero: any) when it returns. `context` must be run by one thread. To close everything, stop the
/// context, destroy the server, then the context. Throws `error_exception` when it cannot listen.
[[nodiscard]] std::unique_ptr<loopback_server> make_loopback_server(asio::io_context& context, std::uint16_t port,
                                                                    loopback_events events);

}  // namespace sluice::testing
