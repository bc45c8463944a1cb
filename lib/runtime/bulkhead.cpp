#include <sluice/runtime/bulkhead.hpp>

#include "runtime/gate.hpp"

#include <string>
#include <utility>

namespace sluice {
namespace {

using admission_result = expected<permit, rejection>;

// A finished coroutine: awaiting it neither suspends nor posts.
asio::awaitable<admission_result> finished(permit held) { co_return admission_result(std::move(held)); }

/// Starts to wait for new work. What is handed over stays in the frame of the coroutine that awaits: the less, the
/// better.
struct initiate_new {
  detail::gate* where;

  template <typename Handler>
  void operator()(Handler&& handler, const cost& asked, instant deadline, workload as) const {
    core::request what;
    what.cost = asked;
    what.workload = as;
    what.deadline = deadline;
    detail::initiate_admit{where}(std::forward<Handler>(handler), what, &asked);
  }
};

bool names_somebody(const admit_options& options) noexcept {
  return (options.tenant.key() | options.run.generation | options.model.key()) != 0;
}

core::request request_for(const cost& asked, workload as, const admit_options& options) noexcept {
  core::request made;
  made.cost = asked;
  made.workload = as;
  made.deadline = options.deadline;
  // Most work is new, and copying what has just been written in smaller pieces is slow.
  if (options.age.sequence != 0) made.age = options.age;
  made.kind = options.kind;
  if (names_somebody(options)) {
    made.tenant = options.tenant;
    made.run = options.run;
    made.finalising = options.finalising;
    made.model = options.model;
  }
  return made;
}

}  // namespace

bulkhead::bulkhead(asio::any_io_executor executor, const policy& rules)
    : gate_(new detail::gate(std::move(executor), rules, nullptr)) {}

bulkhead::bulkhead(asio::any_io_executor executor, const policy& rules, time_source& time)
    : gate_(new detail::gate(std::move(executor), rules, &time)) {}

bulkhead::~bulkhead() { detail::gate::abandon(gate_); }

core::request bulkhead::to_core(const admit_request& what) noexcept {
  return request_for(what.cost, what.workload, what.options);
}

asio::awaitable<admission_result> bulkhead::admit(const cost& asked, workload as, const admit_options& options) {
  const core::request what = request_for(asked, as, options);
  const core::request_id id = gate_->admit_at_once(what);
  if (id != core::request_id{}) return finished(detail::permit_access::make(*gate_, id));
  if (options.age.sequence == 0 && options.kind == attempt::first && !names_somebody(options)) {
    return asio::async_initiate<const asio::use_awaitable_t<>, void(admission_result)>(
        initiate_new{gate_}, asio::use_awaitable, asked, options.deadline, as);
  }
  return asio::async_initiate<const asio::use_awaitable_t<>, void(admission_result)>(detail::initiate_admit{gate_},
                                                                                     asio::use_awaitable, what);
}

admission_result bulkhead::try_admit(const cost& asked, workload as, const admit_options& options) {
  const core::request what = request_for(asked, as, options);
  const core::request_id id = gate_->admit_at_once(what);
  if (id != core::request_id{}) return detail::permit_access::make(*gate_, id);
  auto admitted = gate_->try_admit(what);
  if (!admitted) return unexpected<rejection>(std::move(admitted).error());
  return detail::permit_access::make(*gate_, *admitted);
}

expected<forecast, rejection> bulkhead::would_admit(const cost& asked, workload as,
                                                    const admit_options& options) const {
  return gate_->forecast(request_for(asked, as, options));
}

expected<run_id, error> bulkhead::open_run(const run_options& what) { return gate_->open_run(what); }
expected<run_id, error> bulkhead::open_run(const run_options& what, budget_listener on_threshold) {
  return gate_->open_run(what, std::move(on_threshold));
}
expected<void, charge_refusal> bulkhead::charge_run(run_id which, const spending& what) {
  return gate_->charge_run(which, what);
}
expected<void, error> bulkhead::extend_run(run_id which, const spending& more) {
  return gate_->extend_run(which, more);
}
bool bulkhead::close_run(run_id which) { return gate_->close_run(which, false); }
void bulkhead::stop_with(run_id which, const std::shared_ptr<stop_signal>& what) { gate_->stop_with(which, what); }
std::optional<run_balance> bulkhead::balance(run_id which) const { return gate_->balance(which); }
void bulkhead::pause(duration length) { gate_->pause(length); }
void bulkhead::report_limits(const provider_limits& said) { gate_->report_limits(said); }
void bulkhead::signal(provider_signal what) { gate_->signal({}, what); }
std::vector<decision> bulkhead::recent_decisions() const { return gate_->recent_decisions(); }

expected<void, error> bulkhead::reconfigure(const policy& next) { return gate_->reconfigure(next); }
void bulkhead::close() { gate_->close(); }
void bulkhead::start_recording(std::size_t most_bytes) { gate_->start_recording(most_bytes); }
std::string bulkhead::take_recording() { return gate_->take_recording(); }
statistics bulkhead::statistics() const { return gate_->take_statistics(); }
policy bulkhead::current_policy() const { return gate_->current_policy(); }
instant bulkhead::now() const { return gate_->time().now(); }
time_source& bulkhead::time() const noexcept { return gate_->time(); }
asio::any_io_executor bulkhead::get_executor() const { return gate_->home(); }

}  // namespace sluice
