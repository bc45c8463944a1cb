#include "agent/loop/loop_report.hpp"

#include <utility>

namespace sluice::agent::detail {

namespace {

template <typename Listener, typename... What>
void call_quietly(const Listener& listener, const What&... what) noexcept {
  if (!listener) return;
  try {
    listener(what...);
  } catch (...) {
    // A listener watches; the loop does not depend on it.
  }
}

}  // namespace

loop_report::loop_report(loop_options& how, run_result& into) : how_(how), into_(into) {
  hooks_.before = std::move(how.hooks.before);
  hooks_.approve = std::move(how.hooks.approve);
  hooks_.after = std::move(how.hooks.after);
  if (!listens()) {
    hooks_.started = std::move(how.hooks.started);
    hooks_.finished = std::move(how.hooks.finished);
    return;
  }
  hooks_.started = [this](const llm::tool_call& call) {
    loop_event what(loop_event::kind::tool_started, turn_);
    what.call = &call;
    tell(what);
    call_quietly(how_.hooks.started, call);
  };
  hooks_.finished = [this](const tool_result& result) {
    loop_event what(loop_event::kind::tool_finished, turn_);
    what.call = &result.call;
    what.result = &result;
    tell(what);
    call_quietly(how_.hooks.finished, result);
  };
}

void loop_report::turn(int number) {
  if (std::exchange(turn_, number) != number) tell(loop_event(loop_event::kind::turn_started, number));
}

void loop_report::text(std::string_view said) { tell_text(loop_event::kind::text, said); }
void loop_report::reasoning(std::string_view said) { tell_text(loop_event::kind::reasoning, said); }

void loop_report::usage(const llm::token_usage& taken) {
  loop_event what(loop_event::kind::usage, turn_);
  what.usage = taken;
  tell(what);
}

void loop_report::warn(std::string line) {
  into_.warnings.push_back(std::move(line));
  tell_text(loop_event::kind::warning, into_.warnings.back());
}

void loop_report::finished(const tool_result& result) { call_quietly(hooks_.finished, result); }

void loop_report::tell(const loop_event& what) noexcept { call_quietly(how_.on_event, what); }

void loop_report::tell_text(loop_event::kind which, std::string_view said) {
  if (said.empty() || !listens()) return;
  loop_event what(which, turn_);
  what.text = said;
  tell(what);
}

}  // namespace sluice::agent::detail
