/// \file
/// `retry_policy`: when a failed attempt is followed by another.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/time.hpp>

#include <chrono>
#include <type_traits>

namespace sluice::llm {

/// Every attempt is an admission of its own, with the age of the first; nobody waits for the next one with a permit in
/// hand.
///
/// Retried: no connection, a lost one, a stream that breaks off, limits on connecting, first byte, idle bytes and the
/// total, 408, 409, 429, 5xx. Not retried: what the caller asked for wrongly (other 4xx), a spent quota, cancellation,
/// refusals of admission, answers that came but do not hold. `x-should-retry` wins over the status. Nothing is retried
/// once a part of the answer was handed out, unless `continue_partial` says so; never beyond the call's deadline; nor
/// without room in the gate's retry budget (`policy::retries`): then the first error is the result, and its message
/// says why there was no other attempt.
///
/// A date in `retry-after` is read by the answer's own `date`; without one it says nothing.
///
/// The wait before attempt n is random between 0 and `min(first_backoff * 2^(n-2), max_backoff)` (full jitter; Brooker,
/// "Exponential Backoff and Jitter", 2015), or what the provider asks for and up to a tenth more: it is never cut
/// short. No two calls of a client wake within 2.5 ms of each other.
///
/// After 429, 503 and 529 the whole gate pauses, for all callers: for what the provider asks (at most
/// `max_retry_after`) and up to a tenth more, or, when it does not say, for a random part of a time that doubles with
/// each such failure in a row of the client's. The attempt waits in the gate's queue, which opens again little by
/// little (`policy::reopening`). After anything else the call waits alone.
struct retry_policy {
  /// Attempts in all; 1: never again. Preempted attempts, and ones that a server's habits forced on us, are not
  /// counted.
  int max_attempts = 3;
  duration first_backoff = std::chrono::milliseconds(500);
  duration max_backoff = std::chrono::seconds(8);
  /// A provider that asks for a longer wait is not asked again.
  duration max_retry_after = std::chrono::seconds(120);
  /// A stream that broke after a part of it was handed out is asked for again with that part as the beginning of the
  /// answer. Models differ in how well they go on; the text may repeat or lack a word at the seam. Tool calls are never
  /// continued.
  bool continue_partial = false;
  friend constexpr bool operator==(const retry_policy&, const retry_policy&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<retry_policy> && std::is_aggregate_v<retry_policy>);

/// Errors: `errc::invalid_configuration`, naming the field: `retry.max_attempts` (1 to 100), the durations (not
/// negative).
[[nodiscard]] expected<void, error> validate(const retry_policy& checked);

}  // namespace sluice::llm
