#include <sluice/core/admission.hpp>

#include "core/admission_state.hpp"

#include <sluice/core/event.hpp>
#include <sluice/core/event_log.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace sluice::core {
namespace {

event_result result_of(request_id id) { return {id != request_id{}, id, {}}; }
event_result result_of(bool done) { return {done, {}, {}}; }
event_result result_of(const expected<void, error>& done) { return {done.has_value(), {}, {}}; }
event_result result_of(const expected<void, charge_refusal>& done) { return {done.has_value(), {}, {}}; }
event_result result_of(const expected<run_id, error>& opened) {
  return {opened.has_value(), {}, opened ? *opened : run_id{}};
}

}  // namespace

admission::admission(policy initial) : state_(std::make_unique<state>(std::move(initial))) {}
admission::admission(admission&&) noexcept = default;
admission& admission::operator=(admission&&) noexcept = default;
admission::~admission() = default;

// The instant is the one that counts, so that no clock that was behind, and no instant that was not asked for, is in a
// log.
template <typename Body, typename Call>
auto admission::logged(const Body& what, instant now, effects& out, const Call& call) {
  const instant at = std::max(now, state_->now());
  const event_log_writer::mark before{out.list.size(), out.decisions.size()};
  auto result = call();
  log_->append({at, what}, result_of(result), out, before);
  return result;
}

request_id admission::arrive_logged(const request& what, instant now, effects& out) {
  return logged(events::arrive{what}, now, out, [&] { return state_->arrive(what, now, out); });
}
request_id admission::enter_logged(const request& what, instant now) {
  effects none;
  return logged(events::enter{what}, now, none, [&] { return state_->enter(what, now); });
}
bool admission::finish_logged(request_id id, ending how, const std::optional<usage>& used, instant now, effects& out) {
  return logged(events::finish{id, how, used}, now, out, [&] { return state_->finish(id, how, used, now, out); });
}

bool admission::cancel(request_id id, instant now, effects& out) {
  const auto call = [&] { return state_->cancel(id, now, out); };
  return log_ == nullptr ? call() : logged(events::cancel{id}, now, out, call);
}
void admission::tick(instant now, effects& out) {
  const auto call = [&] { return state_->tick(now, out), true; };
  log_ == nullptr ? call() : logged(events::tick{}, now, out, call);
}
expected<void, error> admission::report(request_id id, const progress& how_far, instant now, effects& out) {
  const auto call = [&] { return state_->report(id, how_far, now, out); };
  return log_ == nullptr ? call() : logged(events::report{id, how_far}, now, out, call);
}
void admission::set_stoppable(request_id id, bool stoppable, instant now, effects& out) {
  const auto call = [&] { return state_->set_stoppable(id, stoppable, now, out), true; };
  log_ == nullptr ? call() : logged(events::set_stoppable{id, stoppable}, now, out, call);
}
bool admission::could_be_preempted(request_id id) const noexcept { return state_->could_be_preempted(id); }
bool admission::could_be_stopped(request_id id) const noexcept { return state_->could_be_stopped(id); }
bool admission::in_closed_run(request_id id) const noexcept { return state_->in_closed_run(id); }
expected<void, error> admission::reconfigure(policy next, instant now, effects& out) {
  if (log_ == nullptr) return state_->reconfigure(std::move(next), now, out);
  const auto shared = std::make_shared<const policy>(std::move(next));
  return logged(events::reconfigure{shared}, now, out, [&] { return state_->reconfigure(*shared, now, out); });
}
void admission::close(instant now, effects& out) {
  const auto call = [&] { return state_->close(now, out), true; };
  log_ == nullptr ? call() : logged(events::close{}, now, out, call);
}
void admission::signal(request_id id, provider_signal what, instant now, effects& out) {
  const auto call = [&] { return state_->signal(id, what, now, out), true; };
  log_ == nullptr ? call() : logged(events::signal{id, what}, now, out, call);
}
void admission::pause(instant until, instant now, effects& out) {
  const auto call = [&] { return state_->pause(until, now, out), true; };
  log_ == nullptr ? call() : logged(events::pause{until}, now, out, call);
}
void admission::report_limits(const provider_limits& said, instant now, effects& out) {
  const auto call = [&] { return state_->report_limits(said, now, out), true; };
  log_ == nullptr ? call() : logged(events::report_limits{said}, now, out, call);
}
expected<run_id, error> admission::open_run(const run_options& what, instant now) {
  effects none;
  const auto call = [&] { return state_->open_run(what); };
  return log_ == nullptr ? call() : logged(events::open_run{what}, now, none, call);
}
expected<void, error> admission::extend_run(run_id id, const spending& more, instant now, effects& out) {
  const auto call = [&] { return state_->extend_run(id, more, now, out); };
  return log_ == nullptr ? call() : logged(events::extend_run{id, more}, now, out, call);
}
expected<void, charge_refusal> admission::charge_run(run_id id, const spending& what, instant now, effects& out) {
  const auto call = [&] { return state_->charge_run(id, what, now, out); };
  return log_ == nullptr ? call() : logged(events::charge_run{id, what}, now, out, call);
}
bool admission::thresholds_untold() const noexcept { return state_->thresholds_untold(); }
bool admission::may_charge(run_id id) const noexcept { return state_->may_charge(id); }
bool admission::close_run(run_id id, instant now, effects& out, bool hold) {
  const auto call = [&] { return state_->close_run(id, hold, now, out); };
  return log_ == nullptr ? call() : logged(events::close_run{id, hold}, now, out, call);
}

void admission::record(event_log_writer* log) noexcept {
  log_ = log;
  if (log == nullptr) return;
  const bool untouched = state_->now() == instant{} && !closed() && waiting() == 0 && in_flight() == 0 &&
                         state_->statistics().all == class_statistics{} && state_->statistics().runs == 0;
  log->begin(current_policy(), untouched);
}

expected<forecast, decision> admission::forecast(const request& what, instant now) const {
  return state_->forecast(what, now);
}
std::optional<run_balance> admission::balance(run_id id) const { return state_->balance(id); }
std::vector<decision> admission::recent() const { return state_->recent(); }
bool admission::needs_time() const noexcept { return state_->needs_time(); }

const policy& admission::current_policy() const noexcept { return state_->rules(); }
bool admission::closed() const noexcept { return state_->closed(); }
std::size_t admission::waiting() const noexcept { return state_->waiting(); }
std::size_t admission::in_flight() const noexcept { return state_->in_flight(); }
instant admission::now() const noexcept { return state_->now(); }
statistics admission::statistics() const { return state_->statistics(); }
std::optional<decision> admission::explain(request_id id) const { return state_->explain(id); }
std::optional<age> admission::age_of(request_id id) const { return state_->age_of(id); }
std::vector<std::uint64_t> admission::waiting_tags() const { return state_->waiting_tags(); }
std::optional<std::string> admission::broken_invariant() const { return state_->broken_invariant(); }

}  // namespace sluice::core
