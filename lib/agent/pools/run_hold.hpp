/// \file
/// `run_hold`: the place of one run in a pool: waited for, held, given back for a while, taken again.
#pragma once

#include "agent/pools/wait_graph.hpp"
#include "agent/runs/run_state.hpp"

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/core/request.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/permit.hpp>
#include <sluice/runtime/time_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace sluice::agent::detail {

class run_admission;

/// What a pool is to its permits, which may outlive it. Thread safety: all members, from any thread.
class run_pool_state {
 public:
  run_pool_state(const asio::any_io_executor& executor, const policy& rules, time_source* time);

  /// Lets `who` wait in the queue of the gate; completes it later.
  void admit(const std::shared_ptr<run_admission>& who, const admit_request& what);
  void close();
  /// The pool goes away; waiters are told that it is closed.
  void end() noexcept;

  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] wait_graph::pool& places() noexcept { return places_; }

 private:
  mutable std::mutex mutex_;
  std::optional<bulkhead> gate_;
  wait_graph::pool places_;
};

/// Owned by shared pointers: the permit's, and those of suspensions. Thread safety: all members, from any thread; one
/// `take`, or one `resume`, waits at a time.
class run_hold {
 public:
  run_hold(std::shared_ptr<run_pool_state> in, std::shared_ptr<run_state> who);
  run_hold(const run_hold&) = delete;
  run_hold& operator=(const run_hold&) = delete;
  ~run_hold();

  /// Waits for a place, and has it then.
  [[nodiscard]] asio::awaitable<expected<void, error>> take();
  /// Ends its wait, or the next one, for this reason. Nothing when it has the place.
  void turn_away(error why);
  /// Gives it back for good.
  void release() noexcept;
  /// Whether it has not been given back for good.
  [[nodiscard]] bool alive() const noexcept;

  /// A suspension begins; ends, and takes the place again if it was the last; or ends and takes none.
  void suspend() noexcept;
  [[nodiscard]] asio::awaitable<expected<void, error>> resume();
  void give_up() noexcept;

 private:
  class place final : public wait_graph::place {
   public:
    using wait_graph::place::place;
    std::weak_ptr<run_admission> waiter;

   private:
    void refused(error why) noexcept override;
  };
  /// A wait for a place, however it ends.
  class taking;

  /// Why it is not to wait, if it was turned away.
  [[nodiscard]] std::optional<error> begin_to_wait(const std::shared_ptr<run_admission>& by);
  [[nodiscard]] bool begin_to_resume() noexcept;
  [[nodiscard]] permit let_go() noexcept;

  std::shared_ptr<run_pool_state> pool_;
  std::shared_ptr<run_state> who_;
  mutable std::mutex mutex_;
  place place_;
  permit permit_;
  sluice::age age_{};
  /// Suspensions that have not ended.
  std::size_t away_ = 0;
  bool taking_ = false;
  bool over_ = false;
  std::optional<error> turned_away_;
};

}  // namespace sluice::agent::detail
