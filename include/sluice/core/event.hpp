/// \file
/// `core::event`: one call of a member of `core::admission` that can change it, as a value; and `apply`, which makes
/// that call. What `event_log_writer` keeps, and what a replay is made of.
#pragma once

#include <sluice/core/admission.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

namespace sluice::core {

/// One type for each such member, named like it, with its arguments but for the instant.
namespace events {

struct arrive {
  request what{};
};
/// Also for `arrive_at_once`, which is the same in other words.
struct enter {
  request what{};
};
struct cancel {
  request_id id{};
};
struct tick {};
struct report {
  request_id id{};
  progress how_far{};
};
struct set_stoppable {
  request_id id{};
  bool stoppable = false;
};
struct finish {
  request_id id{};
  ending how = ending::released;
  std::optional<usage> used{};
};
struct reconfigure {
  /// Shared, since a policy is large beside an event. Never null in an event that was recorded or read.
  std::shared_ptr<const policy> next;
};
struct close {};
struct signal {
  request_id id{};
  provider_signal what = provider_signal::rate_limited;
};
struct pause {
  instant until{};
};
struct open_run {
  run_options what{};
};
struct extend_run {
  run_id id{};
  spending more{};
};
struct close_run {
  run_id id{};
  bool hold = false;
};
struct report_limits {
  provider_limits said{};
};
struct charge_run {
  run_id id{};
  spending what{};
};

}  // namespace events

/// What can happen. The order is that of the numbers in a log: new kinds go to the end.
using event_body =
    std::variant<events::arrive, events::enter, events::cancel, events::tick, events::report, events::set_stoppable,
                 events::finish, events::reconfigure, events::close, events::signal, events::pause, events::open_run,
                 events::extend_run, events::close_run, events::report_limits, events::charge_run>;

/// What happened, and when.
struct event {
  instant at{};
  event_body what;
};

/// What the call gave back.
struct event_result {
  /// For a request: that it has an id, since it was not turned away. Otherwise, that the call did what it is for:
  /// `true` where it always does.
  bool accepted = true;
  /// The request's, for `arrive` and `enter`.
  request_id id{};
  /// The run's, for `open_run`.
  run_id run{};
  friend constexpr bool operator==(const event_result&, const event_result&) noexcept = default;
};

/// The name of the member: `arrive`, `finish`, ….
[[nodiscard]] std::string_view name_of(const event& what) noexcept;

/// Calls the member of `machine` that `what` stands for; appends its effects to `out`. Costs what the member costs.
event_result apply(admission& machine, const event& what, effects& out);

/// Whether two effects, or two decisions, are the same in everything.
[[nodiscard]] bool same(const effect& a, const effect& b) noexcept;
[[nodiscard]] bool same(const decision& a, const decision& b) noexcept;

}  // namespace sluice::core
