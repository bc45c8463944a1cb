/// \file
/// The transport of production: libcurl's multi interface driven by Asio, one engine an `io_context`.
#pragma once

#include <sluice/http/transport.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace sluice::http {

/// How the engine behaves. A plain value.
class curl_options {
 public:
  curl_options() = default;

  /// Check the server's certificate and name. Turn it off only against a test server.
  bool verify_tls = true;
  /// A CA bundle to use in place of the system's; a path, or empty.
  std::string ca_bundle;
  /// Connections kept open for reuse when idle.
  long max_idle_connections = 256;
  /// Bytes of one answer's body that may wait for their reader before its connection is paused.
  std::size_t read_buffer = std::size_t{1} << 20;
};

/// Makes an engine that lives on `executor` (of an `io_context`, or a strand over one); `time` measures its limits and
/// must outlive it. HTTP/2 where the server has it over TLS, HTTP/1.1 otherwise; connections are reused, and one that
/// the server closed while it was idle is replaced unnoticed; bodies in gzip are unpacked as they come;
/// proxies from the environment are honoured as curl does.
///
/// Executor: libcurl is driven by `executor`'s threads, one at a time. A coroutine is resumed through its own executor;
/// where that is the `io_context` that drives libcurl, at once. Idle connections do not keep `run()` from returning.
/// Thread safety: one lock guards libcurl; calls from several threads wait for each other as long as one step of it
/// takes (tens of microseconds; a TLS handshake's step a millisecond).
/// Lifetime: may be destroyed before or after the executor's context. Exchanges that run when the context is destroyed
/// are dropped, those that run when the transport is destroyed complete with `errc::cancelled`.
/// Throws `error_exception` when libcurl cannot be set up.
[[nodiscard]] std::unique_ptr<transport> make_curl_transport(asio::any_io_executor executor, time_source& time,
                                                             curl_options options = {});

}  // namespace sluice::http
