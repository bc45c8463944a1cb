/// \file
/// `run_permit::suspended_while`: work during which a run's place is given back. Not for users; included by
/// run_pool.hpp.
#pragma once

#include <sluice/agent/run_pool.hpp>

#include <asio/awaitable.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace sluice::agent {

namespace detail {

/// One suspension of a hold, from its making to `end`, or to its destruction, which takes no place again.
class suspension {
 public:
  /// Null: nothing is suspended.
  explicit suspension(std::shared_ptr<run_hold> of) noexcept;
  suspension(const suspension&) = delete;
  suspension& operator=(const suspension&) = delete;
  ~suspension();

  /// Once.
  [[nodiscard]] asio::awaitable<expected<void, error>> end();

 private:
  std::shared_ptr<run_hold> of_;
};

[[nodiscard]] error cancelled_while_suspended();

}  // namespace detail

template <typename T>
asio::awaitable<expected<T, error>> run_permit::suspended_while(asio::awaitable<T> work) {
  using result_type = expected<T, error>;
  detail::suspension away(hold_);
  std::optional<result_type> gave;
  std::exception_ptr thrown;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(work);
      gave.emplace();
    } else {
      auto value = co_await std::move(work);
      gave.emplace(std::move(value));
    }
  } catch (...) {
    thrown = std::current_exception();
  }
  std::optional<error> lost;
  const asio::cancellation_state own = co_await asio::this_coro::cancellation_state;
  if (own.cancelled() != asio::cancellation_type::none) {
    lost = detail::cancelled_while_suspended();
  } else {
    auto back = co_await away.end();
    if (!back) lost = std::move(back).error();
  }
  if (thrown) std::rethrow_exception(thrown);
  if (lost) co_return result_type(unexpected<error>(*std::move(lost)));
  co_return *std::move(gave);
}

}  // namespace sluice::agent
