/// \file
/// `live_line`: what is going on, on one line, while an arm runs.
#pragma once

#include "caller.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <string>

namespace contention {

class arm_result;

/// On a terminal one line on standard error, rewritten in place; elsewhere a line every five seconds.
/// Thread safety: for one thread. Lifetime: `result` and `calls` must outlive it; it must outlive `run`.
class live_line {
 public:
  live_line(const asio::any_io_executor& executor, const arm_result& result, const caller& calls, bool quiet);

  /// Completes after `stop`.
  [[nodiscard]] asio::awaitable<void> run();
  void stop();

  /// The line as it would be shown now.
  [[nodiscard]] std::string text() const;

 private:
  void show() const;

  const arm_result& result_;
  const caller& calls_;
  bool quiet_;
  bool terminal_;
  bool stopped_ = false;
  asio::steady_timer timer_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace contention
