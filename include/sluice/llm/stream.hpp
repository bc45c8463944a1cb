/// \file
/// `stream`: a streamed answer, read event by event.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/stream_event.hpp>

#include <asio/awaitable.hpp>

#include <memory>
#include <optional>

namespace sluice::llm {

namespace detail {
class stream_call;
}

/// A streamed answer under way. Move-only. It holds the permit of its exchange until the answer has ended or failed, or
/// the stream is destroyed; then the hold is settled by the provider's usage, or by an estimate of what was seen, and
/// an exchange that is still running is closed at once.
///
/// Preemption: the permit may be taken back at any moment, also between two calls of `next`; the exchange is closed at
/// once. As long as no event has been handed out, and the call allows it, the request is then queued again and sent
/// again with the next `next`; later it is `errc::preempted`. When its run is closed (`bulkhead::close_run`) the
/// exchange is closed likewise, and it is `errc::cancelled`. Between two calls of `next`, too, a stream that is not
/// read for `client_options::unread`, or until the call's deadline, is closed, and the next `next` says so.
///
/// Retries: until the first event has been handed out, as `client_options::retry` says. After that only with
/// `retry_policy::continue_partial`: the texts of all parts then make one answer, and so do their figures of usage.
///
/// Thread safety: distinct streams only; `next` from one coroutine at a time. Lifetime: its client, transport and
/// bulkhead must live while `next` runs; it may be destroyed after them.
class [[nodiscard]] stream {
 public:
  stream() noexcept;
  stream(stream&&) noexcept;
  stream& operator=(stream&&) noexcept;
  /// Closes the exchange and releases the permit.
  ~stream();

  /// The next event; nothing when the answer is whole and all of it has been handed out. Completes when the provider
  /// has sent more, the stream has ended, or it has failed. Cancellation: terminal; the exchange is closed, the permit
  /// is settled with what was seen, and `errc::cancelled` comes back (as always with Asio's coroutines, the caller's
  /// next `co_await` throws). Errors: as `failure` says, with the partial answer; from then on the same one always. An
  /// answer that ends without a finish reason is `errc::connection_lost`, even when the stream ended in good order. One
  /// that was not read in time is `errc::idle_timeout`, or `errc::deadline_exceeded`. On an empty stream:
  /// `errc::invalid_argument`.
  [[nodiscard]] asio::awaitable<expected<std::optional<stream_event>, failure>> next();

  /// The answer so far; whole when `next` has given `done`. Until then it has no tool calls and estimated usage.
  /// On an empty stream: an empty reply.
  [[nodiscard]] const reply& result() const noexcept;

 private:
  friend class client;
  explicit stream(std::unique_ptr<detail::stream_call> call) noexcept;

  std::unique_ptr<detail::stream_call> call_;
};

}  // namespace sluice::llm
