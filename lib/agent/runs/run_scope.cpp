#include <sluice/agent/run_scope.hpp>

#include "agent/runs/run_state.hpp"

#include <sluice/core/cost.hpp>

#include <algorithm>
#include <utility>

namespace sluice::agent {

run_scope::run_scope(std::shared_ptr<detail::run_state> state) noexcept : state_(std::move(state)) {}

run_scope::run_scope(run_scope&&) noexcept = default;

run_scope& run_scope::operator=(run_scope&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

run_scope::~run_scope() {
  if (state_) state_->close();
}

expected<run_scope, error> run_scope::open(bulkhead& gate, run_settings how, asio::any_io_executor executor) {
  auto opened = detail::run_state::open(gate, std::move(how), std::move(executor));
  if (!opened) return unexpected<error>(std::move(opened).error());
  return run_scope(*std::move(opened));
}

expected<run_scope, error> run_scope::child(run_settings how) {
  const bool awaited = how.awaited;
  auto opened = state_->open_child(std::move(how), awaited);
  if (!opened) return unexpected<error>(std::move(opened).error());
  return run_scope(*std::move(opened));
}

llm::call_options run_scope::call_options(bool finalising) const {
  return {.workload = state_->workload(),
          .deadline = finalising ? state_->deadline() : state_->working_deadline(),
          .tenant = state_->tenant(),
          .run = state_->id(),
          .finalising = finalising && state_->is_root()};
}

const std::string& run_scope::name() const noexcept { return state_->name(); }
std::string run_scope::path() const { return state_->path(); }
run_id run_scope::id() const noexcept { return state_->id(); }
bulkhead& run_scope::gate() const noexcept { return state_->gate(); }
asio::any_io_executor run_scope::get_executor() const noexcept { return state_->executor(); }
sluice::workload run_scope::workload() const noexcept { return state_->workload(); }
sluice::tenant run_scope::tenant() const noexcept { return state_->tenant(); }
instant run_scope::deadline() const noexcept { return state_->deadline(); }
instant run_scope::working_deadline() const noexcept { return state_->working_deadline(); }

duration run_scope::time_left() const {
  const instant until = state_->working_deadline();
  if (until == never) return duration::max();
  return std::max(until - state_->gate().now(), duration::zero());
}

run_balance run_scope::balance() const { return state_->balance(); }
spending run_scope::remaining() const { return balance().remaining; }
expected<void, error> run_scope::extend(const spending& more) { return state_->extend(more); }
expected<void, error> run_scope::charge(const spending& what) { return state_->charge(what); }

void run_scope::cancel() noexcept { state_->stop(); }
bool run_scope::cancelled() const noexcept { return state_->cancelled(); }
asio::awaitable<leave_result> run_scope::leave() { return detail::run_state::leave(state_); }

}  // namespace sluice::agent
