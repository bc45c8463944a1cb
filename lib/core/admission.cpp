#include <sluice/core/admission.hpp>

#include "core/admission_state.hpp"

#include <utility>

namespace sluice::core {

admission::admission(policy initial) : state_(std::make_unique<state>(std::move(initial))) {}
admission::admission(admission&&) noexcept = default;
admission& admission::operator=(admission&&) noexcept = default;
admission::~admission() = default;

bool admission::cancel(request_id id, instant now, effects& out) { return state_->cancel(id, now, out); }
void admission::tick(instant now, effects& out) { state_->tick(now, out); }
expected<void, error> admission::report(request_id id, const progress& how_far, instant now, effects& out) {
  return state_->report(id, how_far, now, out);
}
void admission::set_stoppable(request_id id, bool stoppable, instant now, effects& out) {
  state_->set_stoppable(id, stoppable, now, out);
}
bool admission::could_be_preempted(request_id id) const noexcept { return state_->could_be_preempted(id); }
expected<void, error> admission::reconfigure(policy next, instant now, effects& out) {
  return state_->reconfigure(std::move(next), now, out);
}
void admission::close(instant now, effects& out) { state_->close(now, out); }
void admission::signal(request_id id, provider_signal what, instant now, effects& out) { state_->signal(id, what, now, out); }
void admission::pause(instant until, instant now, effects& out) { state_->pause(until, now, out); }
expected<run_id, error> admission::open_run(const run_options& what, instant now) { return state_->open_run(what, now); }
expected<void, error> admission::extend_run(run_id id, const spending& more, instant now, effects& out) {
  return state_->extend_run(id, more, now, out);
}
bool admission::close_run(run_id id, instant now, effects& out) { return state_->close_run(id, now, out); }
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
