#include <sluice/runtime/permit.hpp>

#include "runtime/gate.hpp"

#include <string>

namespace sluice {

expected<void, error> permit::reconcile(const progress& how_far) {
  if (gate_ == nullptr) return unexpected<error>(detail::empty_permit_error("reconcile"));
  return gate_->report(id_, how_far);
}

expected<void, error> permit::settle(const usage& used) {
  if (gate_ == nullptr) return unexpected<error>(detail::empty_permit_error("settle"));
  if (used.input_tokens < 0 || used.output_tokens < 0) {
    return unexpected<error>(error(
        errc::invalid_argument, "settle: input_tokens = " + std::to_string(used.input_tokens) + ", output_tokens = " +
                                    std::to_string(used.output_tokens) + "; neither may be negative"));
  }
  end(core::ending::released, used);
  return {};
}

void permit::signal(provider_signal what) {
  if (gate_ != nullptr) gate_->signal(id_, what);
}

std::optional<decision> permit::explain() const {
  if (gate_ == nullptr) return std::nullopt;
  return gate_->explain(id_);
}

void permit::stop_by(std::shared_ptr<stop_signal> what) {
  if (gate_ == nullptr || what == nullptr) return;
  detail::stop_by(*gate_, id_, std::move(what));
  signalled_ = true;
}

age permit::age() const {
  if (gate_ == nullptr) return {};
  sluice::age own = gate_->age_of(id_).value_or(sluice::age{});
  const bool preempted = preempted_ || (signalled_ && detail::stopped(*gate_, id_) == stop_cause::preempted);
  if (preempted && own.preemptions < 255) ++own.preemptions;
  return own;
}

}  // namespace sluice
