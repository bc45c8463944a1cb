#include "runtime/gate.hpp"

#include <sluice/runtime/bulkhead.hpp>
#include <sluice/runtime/detail/gate_hold.hpp>

#include <asio/execution/bad_executor.hpp>

namespace sluice::detail {

void enqueue(gate& where, waiter& who, const core::request& what) { where.enqueue(who, what); }
void cancel(gate& where, waiter& who) noexcept { where.cancel(who); }
bool is_home(const gate& where, const asio::any_io_executor& executor) noexcept { return where.is_home(executor); }
asio::any_io_executor home_executor(const gate& where) {
  if (!where.home()) throw asio::execution::bad_executor();
  return where.home();
}
void delivered(gate& where) noexcept { where.delivered(); }
std::optional<rejection> refuse_if_abandoned(const gate& where, const core::request& what) {
  return where.refuse_if_abandoned(what);
}
rejection refuse_in_closed_run(const gate& where, const core::request& what) {
  return where.refuse_in_closed_run(what);
}
void finish_signalled(gate& where, core::request_id id, core::ending how, const std::optional<usage>& used) noexcept {
  where.finish_signalled(id, how, used);
}
bool could_be_stopped(const gate& where, core::request_id id) noexcept { return where.could_be_stopped(id); }
void begin_guard(gate& where, core::request_id id, const std::shared_ptr<stoppable>& stop) {
  where.begin_guard(id, stop);
}
void end_guard(gate& where, core::request_id id, const stoppable& stop) noexcept { where.end_guard(id, stop); }
void stop_by(gate& where, core::request_id id, const std::shared_ptr<stoppable>& stop) { where.stop_by(id, stop); }
stop_cause stopped(const gate& where, core::request_id id) noexcept { return where.stopped(id); }

gate_hold::gate_hold(const bulkhead& of) noexcept : gate_(of.gate_) { gate_->hold(); }
gate_hold::~gate_hold() { gate_->let_go(); }
bool gate_hold::close_run(run_id which, bool hold) { return gate_->close_run(which, hold); }
std::optional<run_balance> gate_hold::balance(run_id which) const { return gate_->balance(which); }

}  // namespace sluice::detail
