/// \file
/// `client`: calls models, each call under a permit: estimated, admitted, reconciled while it runs, settled at its end.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/llm/stream.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>

#include <memory>

namespace sluice::llm {

namespace detail {
class endpoint;
}

/// Speaks OpenAI's chat completions with one server. Every call is admitted by the bulkhead first, and only then sent; its permit covers
/// the exchange and nothing else.
///
/// Thread safety: all members may be called from any thread, except the destructor.
/// Lifetime: `over` and `gate` must outlive it and its calls; it must outlive its calls, but not its streams' destructors.
class client {
 public:
  /// Throws `error_exception` when the options do not hold (`validate`).
  client(http::transport& over, bulkhead& gate, client_options options);
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client();

  /// Asks, and waits for the whole answer.
  ///
  /// Completes when the answer is whole, or has failed; the permit has ended by then, whatever happened.
  /// When preempted it is queued again, with its age, until its deadline (`call_options::requeue_when_preempted`).
  /// Cancellation: terminal; in the queue as `bulkhead::admit`, later the exchange is closed at once. The answer is `errc::cancelled`, or
  /// `asio::system_error` of `operation_aborted` when the cancellation came between two awaits; either way the permit has ended.
  /// Errors: as `failure` says. A request that does not hold is `errc::invalid_argument`, and is not admitted.
  [[nodiscard]] asio::awaitable<expected<reply, failure>> chat(request what, call_options options = {});

  /// Asks for a streamed answer. Completes when the answer's head is there: the model has then taken the request on.
  /// Everything else as `chat`.
  [[nodiscard]] asio::awaitable<expected<llm::stream, failure>> stream(request what, call_options options = {});

  [[nodiscard]] bulkhead& gate() const noexcept;

 private:
  std::shared_ptr<detail::endpoint> endpoint_;
};

}  // namespace sluice::llm
