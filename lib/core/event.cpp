#include <sluice/core/event.hpp>

#include <array>
#include <tuple>

namespace sluice::core {
namespace {

template <typename... Cases>
struct overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
overloaded(Cases...) -> overloaded<Cases...>;

constexpr std::array<std::string_view, std::variant_size_v<event_body>> names{
    "arrive", "enter",  "cancel", "tick",     "report",     "set_stoppable", "finish",        "reconfigure",
    "close",  "signal", "pause",  "open_run", "extend_run", "close_run",     "report_limits", "charge_run"};

// Bound by structure, so that a new member does not compile until it is compared.
auto members(const effect& of) {
  const auto& [what, detail, id, tag, at] = of;
  return std::tie(what, detail, id, tag, at);
}

auto members(const decision& of) {
  const auto& [outcome, reason, bound, workload, tenant, observed, revision, asked, limit, available, shortfall, ahead,
               ahead_tokens, could_start, expected_service, waited, deadline, at] = of;
  return std::tie(outcome, reason, bound, workload, tenant, observed, revision, asked, limit, available, shortfall,
                  ahead, ahead_tokens, could_start, expected_service, waited, deadline, at);
}

}  // namespace

std::string_view name_of(const event& what) noexcept { return names[what.what.index()]; }

event_result apply(admission& machine, const event& what, effects& out) {
  const instant at = what.at;
  const auto named = [](request_id id) { return event_result{id != request_id{}, id, {}}; };
  const auto done = [](bool accepted) { return event_result{accepted, {}, {}}; };
  return std::visit(
      overloaded{
          [&](const events::arrive& it) { return named(machine.arrive(it.what, at, out)); },
          [&](const events::enter& it) { return named(machine.enter(it.what, at)); },
          [&](const events::cancel& it) { return done(machine.cancel(it.id, at, out)); },
          [&](const events::tick&) {
            machine.tick(at, out);
            return done(true);
          },
          [&](const events::report& it) { return done(machine.report(it.id, it.how_far, at, out).has_value()); },
          [&](const events::set_stoppable& it) {
            machine.set_stoppable(it.id, it.stoppable, at, out);
            return done(true);
          },
          [&](const events::finish& it) { return done(machine.finish(it.id, it.how, it.used, at, out)); },
          [&](const events::reconfigure& it) {
            return done(it.next != nullptr && machine.reconfigure(*it.next, at, out).has_value());
          },
          [&](const events::close&) {
            machine.close(at, out);
            return done(true);
          },
          [&](const events::signal& it) {
            machine.signal(it.id, it.what, at, out);
            return done(true);
          },
          [&](const events::pause& it) {
            machine.pause(it.until, at, out);
            return done(true);
          },
          [&](const events::open_run& it) {
            const auto opened = machine.open_run(it.what, at);
            return event_result{opened.has_value(), {}, opened ? *opened : run_id{}};
          },
          [&](const events::extend_run& it) { return done(machine.extend_run(it.id, it.more, at, out).has_value()); },
          [&](const events::close_run& it) { return done(machine.close_run(it.id, at, out, it.hold)); },
          [&](const events::report_limits& it) {
            machine.report_limits(it.said, at, out);
            return done(true);
          },
          [&](const events::charge_run& it) { return done(machine.charge_run(it.id, it.what, at, out).has_value()); },
      },
      what.what);
}

bool same(const effect& a, const effect& b) noexcept { return members(a) == members(b); }
bool same(const decision& a, const decision& b) noexcept { return members(a) == members(b); }

}  // namespace sluice::core
