/// \file
/// `hedge`: a second attempt beside one that takes longer than most; the first answer wins.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/any_stream.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/request.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace sluice::llm {

namespace detail {
class hedge_book;
}

/// When a second attempt is sent. Numbers alone.
struct hedge_options {
  /// After what this share of calls have taken, as they were lived through: of the same model, plain answers to their
  /// end and streams to their first event. In (0, 1).
  double quantile = 0.95;
  /// So many calls must have been seen first. Each new one counts one in 200 in the long run.
  std::int64_t least_samples = 20;
  /// Off: nothing is learned, and `after` is always the delay.
  bool learned = true;
  /// The delay as long as too little is known; nothing: no hedge until then.
  std::optional<duration> after{};
  /// Never sooner than this.
  duration least_delay = std::chrono::milliseconds(10);
};
static_assert(std::is_trivially_destructible_v<hedge_options> && std::is_aggregate_v<hedge_options>);

/// Errors: `errc::invalid_configuration`, naming the field: `quantile`, `least_samples` (positive), `after` and
/// `least_delay` (not negative).
[[nodiscard]] expected<void, error> validate(const hedge_options& checked);

/// What hedging has done so far.
struct hedge_statistics {
  /// Second attempts that were sent.
  std::int64_t sent = 0;
  /// Of those, how many answered first.
  std::int64_t won = 0;
  /// Second attempts that were due and were not sent: there was no room for them, or the retry budget had none.
  std::int64_t suppressed = 0;
  /// What losers are known to have taken: those that had answered, and what a cancelled one had told of itself. All of
  /// it, by the permits' own accounts, is in the gate's statistics.
  std::int64_t wasted_tokens = 0;
};

/// Stands before a client, or two. A call that has not been answered after a delay is sent a second time, as
/// `attempt::hedge`, which counts against the gate's retry budget; the first of the two to succeed is the answer. A
/// stream is answered by its first event. The other one is cancelled, its permit ends with what was seen of it, and the
/// call completes when it has stopped: nothing outlives the call.
///
/// A hedge is an extra: it makes one attempt, and when there is no room for it at its gate it is refused, and waits for
/// none. One that is refused or fails leaves the call to the first attempt. A first attempt that fails before the delay
/// is not hedged: retries are the client's.
///
/// Thread safety: all members may be called from any thread, except the destructor.
/// Lifetime: as `client`.
class hedge {
 public:
  /// Both attempts go to `over`; a `router` sends the second one elsewhere.
  /// Throws `error_exception` when the options do not hold (`validate`).
  explicit hedge(any_client over, hedge_options options = {});
  /// The second attempt goes to `second`.
  hedge(any_client first, any_client second, hedge_options options = {});
  hedge(const hedge&) = delete;
  hedge& operator=(const hedge&) = delete;
  ~hedge();

  /// As `client::chat`. Cancellation: terminal; both attempts are cancelled, and it completes when both have stopped.
  /// Errors: when neither succeeds, the first attempt's.
  [[nodiscard]] asio::awaitable<expected<reply, failure>> chat(request what, call_options options = {});
  /// As `client::stream`, but completes when the first event is there.
  [[nodiscard]] asio::awaitable<expected<any_stream, failure>> stream(request what, call_options options = {});

  /// The delay that a call would have now; nothing: it would not be hedged.
  [[nodiscard]] std::optional<duration> delay(std::string_view model, bool streamed) const;

  /// As `client::estimate`, of the first attempt alone.
  [[nodiscard]] expected<cost, failure> estimate(const request& what, const call_options& options = {}) const;
  /// The first attempt's.
  [[nodiscard]] bulkhead& gate() const noexcept;
  [[nodiscard]] hedge_statistics statistics() const;

 private:
  any_client first_;
  any_client second_;
  std::shared_ptr<detail::hedge_book> book_;
};

}  // namespace sluice::llm
