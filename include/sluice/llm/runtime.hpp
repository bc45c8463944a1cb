/// \file
/// `runtime`: for programs that have no loop of their own. Owns one of everything.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/http/curl_transport.hpp>
#include <sluice/llm/client.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/environment.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace sluice {

/// What a runtime is made of. A plain value.
class runtime_options {
 public:
  /// Without a provider: for programs that use the gate alone.
  explicit runtime_options(policy rules_of_gate) : rules(std::move(rules_of_gate)) {}
  runtime_options(policy rules_of_gate, llm::client_options server)
      : rules(std::move(rules_of_gate)), provider(std::move(server)) {}

  /// With the provider that the environment names (`client_options::from_env`).
  [[nodiscard]] static expected<runtime_options, error> from_env(
      policy rules_of_gate, const llm::environment& from = llm::process_environment());

  policy rules;
  /// The server that `runtime::client` calls.
  std::optional<llm::client_options> provider;
  http::curl_options http;
  /// Threads that run the loop; at least 1.
  std::size_t threads = 1;
};

/// An `io_context` with its threads, one bulkhead, one curl transport and one client.
///
/// Thread safety: all members may be called from any thread, except the destructor.
/// Lifetime: the destructor stops the loop, and destroys the coroutines that are still in it. Permits and streams may
/// outlive it; all else that came from it may not.
class runtime {
 public:
  /// Throws `error_exception` when an option does not hold: `rules`, `provider` (as `llm::validate`), `threads`.
  explicit runtime(runtime_options options);
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// Runs `main` in the loop and blocks until it has ended; gives its result, and throws what it threw. Coroutines that
  /// it left behind go on running. May be called from several threads at once, but not from within the loop: that
  /// throws `error_exception` of `errc::invalid_argument`.
  template <typename T>
  T run(asio::awaitable<T> main);

  /// The gate that all calls of `client` pass.
  [[nodiscard]] bulkhead& gate() noexcept;
  /// Throws `error_exception` of `errc::invalid_configuration` when there is no provider in the options.
  [[nodiscard]] llm::client& client();
  [[nodiscard]] http::transport& transport() noexcept;
  [[nodiscard]] time_source& time() noexcept;
  [[nodiscard]] asio::any_io_executor get_executor() const noexcept;

 private:
  class house;

  void check_outside() const;

  template <typename T>
  static asio::awaitable<void> drive(asio::awaitable<T> main, std::promise<T> result);

  std::unique_ptr<house> house_;
};

template <typename T>
T runtime::run(asio::awaitable<T> main) {
  check_outside();
  std::promise<T> promise;
  auto result = promise.get_future();
  asio::co_spawn(get_executor(), drive(std::move(main), std::move(promise)), asio::detached);
  return result.get();
}

template <typename T>
asio::awaitable<void> runtime::drive(asio::awaitable<T> main, std::promise<T> result) {
  std::exception_ptr thrown;
  using held = std::conditional_t<std::is_void_v<T>, bool, T>;
  std::optional<held> value;
  try {
    // Its frame, and with it its parameters, is gone before the caller learns of the result.
    auto running = std::move(main);
    if constexpr (std::is_void_v<T>) {
      co_await std::move(running);
      value.emplace(true);
    } else {
      value.emplace(co_await std::move(running));
    }
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown) {
    result.set_exception(std::move(thrown));
  } else if constexpr (std::is_void_v<T>) {
    result.set_value();
  } else {
    result.set_value(std::move(*value));
  }
}

}  // namespace sluice
