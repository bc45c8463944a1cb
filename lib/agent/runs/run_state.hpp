/// \file
/// `run_state`: what a run scope stands for, and what outlives it: tasks that are still ending.
#pragma once

#include "agent/pools/wait_graph.hpp"
#include "agent/tools/fan_out.hpp"

#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/run_settings.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/run.hpp>
#include <sluice/core/time.hpp>
#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/detail/gate_hold.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

class departure;

/// Something in a run that stops when the run is cancelled. It takes itself out before it dies.
class run_member {
 public:
  run_member() = default;
  run_member(const run_member&) = delete;
  run_member& operator=(const run_member&) = delete;

  /// The run was cancelled. Called once at most, on the cancelling thread, under the run's mutex: it must neither wait
  /// nor come back to the run.
  virtual void run_cancelled() noexcept = 0;

 protected:
  virtual ~run_member() = default;

 private:
  friend class run_state;
  run_member* next_ = nullptr;
  run_member* previous_ = nullptr;
  bool listed_ = false;
};

/// Owned by shared pointers: its scope's, its children's and its tasks'. Mutexes are taken from the root downwards.
class run_state final : public run_member, public std::enable_shared_from_this<run_state> {
 public:
  [[nodiscard]] static expected<std::shared_ptr<run_state>, error> open(bulkhead& gate, run_settings how,
                                                                        asio::any_io_executor executor);
  /// `awaited`: whether this run goes on only when the child has been closed; not so for tasks and tool calls, which
  /// belong to a `wait_graph::batch`.
  [[nodiscard]] expected<std::shared_ptr<run_state>, error> open_child(run_settings how, bool awaited = true);
  ~run_state() override;

  [[nodiscard]] static const std::shared_ptr<run_state>& of(const run_scope& scope) noexcept { return scope.state_; }
  [[nodiscard]] static run_scope scope_of(std::shared_ptr<run_state> state) noexcept {
    return run_scope(std::move(state));
  }

  // What does not change.

  [[nodiscard]] bulkhead& gate() const noexcept { return *gate_; }
  [[nodiscard]] const asio::any_io_executor& executor() const noexcept { return executor_; }
  [[nodiscard]] run_id id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string path() const;
  [[nodiscard]] sluice::workload workload() const noexcept { return workload_; }
  [[nodiscard]] sluice::tenant tenant() const noexcept { return tenant_; }
  [[nodiscard]] instant deadline() const noexcept { return deadline_; }
  [[nodiscard]] instant working_deadline() const noexcept;
  /// Tool calls that run at once in it; the root's is for the whole tree.
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  /// Null for a root.
  [[nodiscard]] run_state* parent() const noexcept { return parent_.get(); }
  [[nodiscard]] run_state& root() noexcept { return *root_; }
  [[nodiscard]] bool is_root() const noexcept { return root_ == this; }
  /// What it waits for, and who for it.
  [[nodiscard]] wait_graph::run& waits() noexcept { return waits_; }

  // Money.

  [[nodiscard]] expected<void, error> charge(const spending& what);
  [[nodiscard]] expected<void, error> extend(const spending& more);
  /// Once it has been stopped: with nothing remaining. Once closed: as it was then.
  [[nodiscard]] run_balance balance() const;

  // What goes on in it.

  /// False when it was cancelled: `who` is not in it then, and is not told.
  [[nodiscard]] bool add(run_member& who) noexcept;
  /// Harmless when it is not there. When this returns, `run_cancelled` is not running.
  void remove(run_member& who) noexcept;
  /// A task of it begins: false when it was cancelled. And ends: only then. O(depth).
  [[nodiscard]] bool begin_task() noexcept;
  void end_task() noexcept;
  /// Those of it and of the runs below it that have not ended.
  [[nodiscard]] std::size_t tasks() const noexcept { return tasks_.load(std::memory_order_acquire); }

  /// Cancels what goes on in it and below it.
  void cancel() noexcept;
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
  /// Cancels it, and closes its account: nothing can be paid by it or below it any more, and what has been begun is
  /// still paid. Harmless when repeated.
  void stop() noexcept;
  /// The same, and nobody waits for it any more.
  void close() noexcept;
  [[nodiscard]] static asio::awaitable<leave_result> leave(std::shared_ptr<run_state> self);

  /// Counts one more use of `what` in the tree of this root, if it has had fewer than `most`.
  [[nodiscard]] bool count_use(const void* what, std::int64_t most);

  // Tool calls.

  /// The bound on tool handlers that holds in it.
  [[nodiscard]] std::shared_ptr<fan_out> handlers();
  /// Of the handler that this run, or the nearest one above it, is the run of: what it holds. Null when there is none.
  [[nodiscard]] std::shared_ptr<fan_out::unit> handler_unit() const noexcept;
  /// It is the run of a tool call, whose handler holds `unit` and has until then. Before anybody else knows the run.
  void serve_call(std::shared_ptr<fan_out::unit> unit, instant until) noexcept;

 private:
  run_state(bulkhead& gate, run_settings&& how, asio::any_io_executor executor, std::shared_ptr<run_state> parent,
            bool awaited);
  [[nodiscard]] static expected<std::shared_ptr<run_state>, error> begin(bulkhead& gate, run_settings how,
                                                                         asio::any_io_executor executor,
                                                                         std::shared_ptr<run_state> parent,
                                                                         bool awaited);
  void run_cancelled() noexcept override { cancel(); }
  void close_account() noexcept;
  [[nodiscard]] error closed_error(const char* verb) const;

  bulkhead* gate_;
  /// A scope in the frame of a coroutine that is destroyed with its context has outlived the gate, as a rule.
  sluice::detail::gate_hold hold_;
  asio::any_io_executor executor_;
  std::shared_ptr<run_state> parent_;
  run_state* root_;
  std::string name_;
  run_id id_{};
  instant deadline_;
  duration finalise_time_;
  duration grace_;
  sluice::workload workload_;
  sluice::tenant tenant_;
  std::int64_t width_;
  wait_graph::run waits_;

  mutable std::mutex mutex_;
  run_member* members_ = nullptr;
  /// `stopped`: at the gate it is closed, and held, so that it tells what was paid for work that was still ending.
  enum class account : std::uint8_t { none, open, stopped, closed };
  account account_ = account::none;
  /// Of an account that was closed: as it was then.
  std::unique_ptr<const run_balance> last_;
  std::atomic<bool> cancelled_{false};
  /// Tasks that have not ended, those of the runs below included.
  std::atomic<std::size_t> tasks_{0};
  std::vector<std::shared_ptr<departure>> leaving_;
  /// Of a root.
  std::vector<std::pair<const void*, std::int64_t>> uses_;
  /// Of a root, or of a run that is narrower than its parent; once it is needed.
  std::shared_ptr<fan_out> handlers_;
  /// Of the run of a tool call.
  std::shared_ptr<fan_out::unit> unit_;
};

}  // namespace sluice::agent::detail
