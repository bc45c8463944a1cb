/// \file
/// `sleep_until`: waiting for an instant, under whatever clock.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/awaitable.hpp>

namespace sluice {

/// Waits until `when` has come by `time`. An instant that has passed is no wait: the `co_await` then does not suspend;
/// `never` waits for a cancellation.
///
/// Completes on the caller's executor: when the instant has come, or at once when it is cancelled. It gives no error.
/// Cancellation: terminal, partial and total, as the coroutine's state lets through (as always with Asio's coroutines,
/// the caller's next `co_await` then throws). Lifetime: a sleep that outlives `time` never ends by itself. When its
/// executor's context is destroyed it is dropped without being resumed; both may be destroyed in either order.
/// Complexity: O(log n) in the time source's entries; no allocation beyond the coroutine's frame.
[[nodiscard]] asio::awaitable<void> sleep_until(time_source& time, instant when);

}  // namespace sluice
