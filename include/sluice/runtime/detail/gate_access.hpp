/// \file
/// What the templates of the runtime need of the gate behind a bulkhead. Not for users.
#pragma once

#include <sluice/core/admission.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/decision.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/request.hpp>
#include <sluice/runtime/detail/stoppable.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/execution_context.hpp>

#include <memory>
#include <optional>

namespace sluice {
class permit;
}

namespace sluice::detail {

/// The state behind a bulkhead: the core, its mutex, and what waits. Lives until the bulkhead and all that came from it
/// are gone. Thread-safe.
class gate;

/// An operation that waits for admission: a node in the operation's own memory.
class waiter;

/// Ends a grant.
void finish(gate& where, core::request_id id, core::ending how, const std::optional<usage>& used) noexcept;
/// The same for one whose work is stopped by a signal, which is forgotten. Work that was abandoned or released when it
/// had been preempted ends as such.
void finish_signalled(gate& where, core::request_id id, core::ending how, const std::optional<usage>& used) noexcept;

/// Starts waiting. The waiter completes later, never within this call: see `waiter`.
void enqueue(gate& where, waiter& who, const core::request& what);

/// Takes a waiter out. It completes with `reason::cancelled` unless it has completed already.
void cancel(gate& where, waiter& who) noexcept;

/// Whether completions on `executor` may be batched with the gate's own.
[[nodiscard]] bool is_home(const gate& where, const asio::any_io_executor& executor) noexcept;

/// The executor of handlers that have none of their own. Throws `asio::execution::bad_executor` when its context is
/// gone.
[[nodiscard]] asio::any_io_executor home_executor(const gate& where);

/// Tells the gate that a waiter which it sent to another executor has been delivered or dropped there.
void delivered(gate& where) noexcept;

/// The same at the end of a scope, so that the gate lives through it.
class delivery {
 public:
  explicit delivery(gate& where) noexcept : gate_(where) {}
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;
  ~delivery() { delivered(gate_); }

 private:
  gate& gate_;
};

/// `reason::closed` when the bulkhead of a gate is gone.
[[nodiscard]] std::optional<rejection> refuse_if_abandoned(const gate& where, const core::request& what);

/// `reason::unknown_run`, for work whose run was closed while it ran.
[[nodiscard]] rejection refuse_in_closed_run(const gate& where, const core::request& what);

/// Whether guarding this grant's work could make a difference.
[[nodiscard]] bool could_be_stopped(const gate& where, core::request_id id) noexcept;

/// Puts work under guard, and takes it out again. The gate lives in between, even if the permit ends.
void begin_guard(gate& where, core::request_id id, const std::shared_ptr<stoppable>& stop);
void end_guard(gate& where, core::request_id id, const stoppable& stop) noexcept;

/// The same until the grant ends.
void stop_by(gate& where, core::request_id id, const std::shared_ptr<stoppable>& stop);
/// Why the work was stopped that now belongs to this grant.
[[nodiscard]] stop_cause stopped(const gate& where, core::request_id id) noexcept;

struct permit_access {
  static permit make(gate& where, core::request_id id) noexcept;
  static gate* gate_of(const permit& from) noexcept;
  static core::request_id id_of(const permit& from) noexcept;
};

}  // namespace sluice::detail
