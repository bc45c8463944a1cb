/// \file
/// `departure`: the place where a coroutine waits for the tasks of a run that it leaves.
#pragma once

#include "runtime/waiting_call.hpp"

#include <sluice/core/time.hpp>

#include <asio/awaitable.hpp>
#include <asio/this_coro.hpp>

namespace sluice::agent::detail {

/// Owned by a shared pointer.
class departure final : public sluice::detail::waiting_call {
 public:
  using waiting_call::waiting_call;

  /// Waits until `gone()`, asked anew at each `wake`, or until `limit`. A cancellation of the caller changes nothing.
  template <typename Gone>
  [[nodiscard]] asio::awaitable<void> wait_for(Gone gone, instant limit) {
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    for (prepare(); !gone(); prepare()) {
      // Once cancelled, a coroutine is not interrupted again, so that this goes round once more at most.
      if (co_await wait(limit) == ending::late) break;
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
  }

 private:
  bool leave(ending) noexcept override { return true; }
};

}  // namespace sluice::agent::detail
