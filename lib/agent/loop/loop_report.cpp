#include "agent/loop/loop_report.hpp"

#include <sluice/core/error.hpp>

#include <mutex>
#include <utility>

namespace sluice::agent::detail {

template <typename Listener, typename What>
void loop_report::call_quietly(const Listener& listener, const What& what) noexcept {
  if (!listener) return;
  const std::lock_guard lock(telling_);
  if (dropped()) return;
  try {
    listener(what);
  } catch (...) {
    // A listener watches; the loop does not depend on it.
  }
}

loop_report::loop_report(loop_options& how, run_result& into) : how_(how), into_(into) {
  tool_hooks& hooks = how.hooks;
  // What a hook refers to may be gone with the caller.
  const auto guarded = [this](auto& hook) {
    if (!hook) return;
    hook = [this, theirs = std::move(hook)](run_scope& run, auto& what) {
      if (dropped()) throw error_exception(error(errc::cancelled, "nobody waits for the call any more"));
      return theirs(run, what);
    };
  };
  guarded(hooks.before);
  guarded(hooks.approve);
  guarded(hooks.after);
  if (listens() || hooks.started) {
    hooks.started = [this, theirs = std::move(hooks.started)](const llm::tool_call& call) {
      loop_event what(loop_event::kind::tool_started, turn_);
      what.call = &call;
      tell(what);
      call_quietly(theirs, call);
    };
  }
  if (listens() || hooks.finished) {
    hooks.finished = [this, theirs = std::move(hooks.finished)](const tool_result& result) {
      loop_event what(loop_event::kind::tool_finished, turn_);
      what.call = &result.call;
      what.result = &result;
      tell(what);
      call_quietly(theirs, result);
    };
  }
}

void loop_report::drop() noexcept {
  const std::lock_guard lock(telling_);
  dropped_.store(true, std::memory_order_release);
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

void loop_report::finished(const tool_result& result) {
  if (how_.hooks.finished) how_.hooks.finished(result);
}

void loop_report::tell(const loop_event& what) noexcept { call_quietly(how_.on_event, what); }

void loop_report::tell_text(loop_event::kind which, std::string_view said) {
  if (said.empty() || !listens()) return;
  loop_event what(which, turn_);
  what.text = said;
  tell(what);
}

}  // namespace sluice::agent::detail
