/// \file
/// `within`: the body of a run that is left on every path out. Not for users; included by run_scope.hpp.
#pragma once

#include <sluice/agent/run_scope.hpp>

#include <asio/this_coro.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace sluice::agent {

namespace detail {

inline expected<run_scope, error> open_in(bulkhead& gate, run_settings how) {
  return run_scope::open(gate, std::move(how));
}
inline expected<run_scope, error> open_in(run_scope& parent, run_settings how) { return parent.child(std::move(how)); }

template <typename T>
struct within_result {
  using type = expected<T, error>;
};
template <typename T>
struct within_result<expected<T, error>> {
  using type = expected<T, error>;
};

}  // namespace detail

template <typename Where, typename Body>
auto within(Where& where, run_settings how, Body body) -> asio::awaitable<
    typename detail::within_result<typename std::invoke_result_t<Body&, run_scope&>::value_type>::type> {
  using value_type = typename std::invoke_result_t<Body&, run_scope&>::value_type;
  using result_type = typename detail::within_result<value_type>::type;

  auto opened = detail::open_in(where, std::move(how));
  if (!opened) co_return result_type(unexpected<error>(std::move(opened).error()));
  run_scope scope = *std::move(opened);
  std::optional<result_type> result;
  std::exception_ptr thrown;
  try {
    auto running = body(scope);
    if constexpr (std::is_void_v<value_type>) {
      co_await std::move(running);
      result.emplace();
    } else {
      result.emplace(co_await std::move(running));
    }
  } catch (...) {
    thrown = std::current_exception();
  }
  // A caller that was cancelled has to wait all the same: to throw would leave tasks behind.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await scope.leave();
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (thrown) std::rethrow_exception(thrown);
  co_return *std::move(result);
}

}  // namespace sluice::agent
