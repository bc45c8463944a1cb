/// \file
/// The transport of production: libcurl's multi interface driven by Asio, one engine an `io_context`.
#pragma once

#include <sluice/http/curl_options.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>

namespace sluice::http {

/// Makes an engine that lives on `executor` (of an `io_context`, or a strand over one); `time` measures its limits and
/// must outlive it. Connections are reused, and one that the server closed while it was idle is replaced unnoticed;
/// bodies in gzip are unpacked as they come; a host with addresses of both kinds is reached over whichever answers.
///
/// Executor: libcurl is driven by `executor`'s threads, one at a time. A coroutine is resumed through its own executor;
/// where that is the `io_context` that drives libcurl, at once. Idle connections do not keep `run()` from returning.
/// Thread safety: one lock guards libcurl; calls from several threads wait for each other as long as one step of it
/// takes (tens of microseconds; a TLS handshake's step a millisecond).
/// Lifetime: may be destroyed before or after the executor's context. Exchanges that run when the context is destroyed
/// are dropped, those that run when the transport is destroyed complete with `errc::cancelled`.
/// Throws `error_exception` when an option does not hold (`validate`), or libcurl cannot be set up.
[[nodiscard]] std::unique_ptr<transport> make_curl_transport(asio::any_io_executor executor, time_source& time,
                                                             curl_options options = {});

}  // namespace sluice::http
