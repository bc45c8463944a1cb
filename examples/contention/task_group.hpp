/// \file
/// `task_group`: starts coroutines, and waits for all of them.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <exception>
#include <system_error>
#include <utility>

namespace contention {

/// Thread safety: for one thread, that of its executor. Lifetime: until `join` has completed.
class task_group {
 public:
  explicit task_group(const asio::any_io_executor& executor)
      : ended_(executor, asio::steady_timer::time_point::max()) {}

  void start(asio::awaitable<void> task) {
    ++running_;
    asio::co_spawn(ended_.get_executor(), std::move(task), [this](std::exception_ptr thrown) {
      if (thrown && !thrown_) thrown_ = std::move(thrown);
      if (--running_ == 0) ended_.cancel();
    });
  }

  /// Completes when all have ended, those that were started meanwhile included; throws the first exception of any.
  asio::awaitable<void> join() {
    while (running_ > 0) {
      std::error_code cancelled;
      co_await ended_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    }
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  // Never expires; it is cancelled to say "all have ended".
  asio::steady_timer ended_;
  int running_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace contention
