/// \file
/// `run_admission`: one wait for a place in a pool of runs, which its caller, its run and the wait graph can end.
#pragma once

#include "agent/runs/run_state.hpp"
#include "runtime/waiting_call.hpp"

#include <sluice/core/decision.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/permit.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/strand.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace sluice::agent::detail {

/// Owned by a shared pointer. The gate completes it on a strand over its caller's executor, on which it is cancelled,
/// too.
class run_admission final : public sluice::detail::waiting_call, public run_member {
 public:
  run_admission(const asio::any_io_executor& executor, std::shared_ptr<run_state> who);
  ~run_admission() override;

  /// False when the run was cancelled: it is not to begin.
  [[nodiscard]] bool watch_run() noexcept;
  /// Asks the gate. Once.
  void begin(bulkhead& gate, const admit_request& what);
  /// The pool is gone.
  void turn_away(error why);
  /// Ends the wait, for this reason unless it has ended already. From any thread.
  void stop(error why) noexcept;

  /// Waits until it has ended. Gives the permit, or why there is none.
  [[nodiscard]] asio::awaitable<expected<permit, error>> ended();

 private:
  void run_cancelled() noexcept override;
  bool leave(ending why) noexcept override;
  void settle(expected<permit, rejection> answer);
  void emit() noexcept;

  std::shared_ptr<run_state> who_;
  asio::strand<asio::any_io_executor> strand_;
  asio::cancellation_signal signal_;
  std::mutex mutex_;
  permit granted_;
  std::optional<error> why_;
  bool begun_ = false;
  bool stopped_ = false;
};

}  // namespace sluice::agent::detail
