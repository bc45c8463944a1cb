/// \file
/// `client`: calls models, each call under a permit: estimated, admitted, reconciled while it runs, settled at its end.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/forecast.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/environment.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>
#include <sluice/llm/stream.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/awaitable.hpp>

#include <memory>
#include <string>

namespace sluice::llm {

namespace detail {
class endpoint;
}

/// Calls one server, in its dialect (`client_options::spoken`). Every attempt of every call is admitted by the bulkhead
/// first, and only then sent; its permit covers the exchange and nothing else. What is worth it is tried again
/// (`retry_policy`).
///
/// Thread safety: all members may be called from any thread, except the destructor.
/// Lifetime: `over` and `gate` must outlive it and its calls; it must outlive its calls, but not its streams'
/// destructors.
class client {
 public:
  /// Throws `error_exception` when the options do not hold (`validate`).
  client(http::transport& over, bulkhead& gate, client_options options);
  /// A client by the environment (`client_options::from_env`). Throws `error_exception` when that says nothing that
  /// holds.
  [[nodiscard]] static client from_env(http::transport& over, bulkhead& gate,
                                       const environment& from = process_environment());
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client();

  /// Asks, and waits for the whole answer.
  ///
  /// Completes when the answer is whole, or has failed; the permit has ended by then, whatever happened.
  /// An attempt that fails is followed by others as `client_options::retry` says; each asks for admission of its own,
  /// with the age of the first. When preempted it is queued again, with its age, until its deadline
  /// (`call_options::requeue_when_preempted`). When its run is closed, an exchange under way is closed at once, what it
  /// took is paid, and it is `errc::cancelled`, without another attempt. Cancellation: terminal; in the queue as
  /// `bulkhead::admit`, later the exchange is closed at once. The answer is `errc::cancelled`, or `asio::system_error`
  /// of `operation_aborted` when the cancellation came between two awaits; either way the permit has ended. Errors: as
  /// `failure` says. A request that does not hold is `errc::invalid_argument`, and is not admitted.
  [[nodiscard]] asio::awaitable<expected<reply, failure>> chat(request what, call_options options = {});

  /// Asks for a streamed answer. Completes when the answer's head is there: the model has then taken the request on.
  /// Everything else as `chat`.
  [[nodiscard]] asio::awaitable<expected<llm::stream, failure>> stream(request what, call_options options = {});

  /// The one-line chat: the answer's text, and nothing else.
  ///
  /// ```cpp
  /// auto answer = co_await client.ask("gpt-4o-mini", "Why is the sky blue?");
  /// std::cout << (answer ? *answer : answer.error().message()) << '\n';
  /// ```
  ///
  /// Everything as `chat`. Errors: its own, and those of `whole_text`: an answer that is not all text is a failure with
  /// that answer in `failure::partial`.
  [[nodiscard]] asio::awaitable<expected<std::string, failure>> ask(std::string model, std::string question,
                                                                    call_options options = {});

  /// What would be reserved for a request if it were made now: the estimate, corrected by what was learned, or what the
  /// options say. Nothing is asked for. Linear in the request's text, some GB/s. Errors: `errc::invalid_argument` for
  /// an estimate that does not hold. The request itself is not checked.
  [[nodiscard]] expected<cost, failure> estimate(const request& what, const call_options& options = {}) const;
  /// What admission would say to it now (`bulkhead::would_admit`). Nothing changes.
  /// Errors: as `estimate`, and refusals as `chat` would have them: work that is larger than the pool is
  /// `errc::refused`, whose message names the numbers and what to change.
  [[nodiscard]] expected<forecast, failure> would_admit(const request& what, const call_options& options = {}) const;

  [[nodiscard]] bulkhead& gate() const noexcept;

 private:
  std::shared_ptr<detail::endpoint> endpoint_;
};

}  // namespace sluice::llm
