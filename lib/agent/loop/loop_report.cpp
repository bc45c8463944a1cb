#include "agent/loop/loop_report.hpp"

#include <sluice/agent/tool_hooks.hpp>
#include <sluice/core/error.hpp>

#include <functional>
#include <mutex>
#include <utility>

namespace sluice::agent::detail {

class loop_report::listeners {
 public:
  explicit listeners(std::function<void(const loop_event&)> on_event) : on_event_(std::move(on_event)) {}

  void drop() noexcept {
    const std::lock_guard lock(telling_);
    dropped_ = true;
  }
  void refuse_if_dropped() {
    const std::lock_guard lock(telling_);
    if (dropped_) throw error_exception(error(errc::cancelled, "nobody waits for the call any more"));
  }
  [[nodiscard]] bool listens() const noexcept { return static_cast<bool>(on_event_); }
  void tell(const loop_event& what) noexcept { call(on_event_, what); }
  template <typename Listener, typename What>
  void call(const Listener& listener, const What& what) noexcept {
    if (!listener) return;
    const std::lock_guard lock(telling_);
    if (dropped_) return;
    try {
      listener(what);
    } catch (...) {
      // A listener watches; the loop does not depend on it.
    }
  }

  int turn = 0;

 private:
  std::function<void(const loop_event&)> on_event_;
  /// Held while a listener is told. One may tell another one, or drop the caller itself.
  std::recursive_mutex telling_;
  bool dropped_ = false;
};

loop_report::loop_report(loop_options& how) {
  tool_hooks& hooks = how.hooks;
  if (!how.on_event && !hooks.before && !hooks.approve && !hooks.after && !hooks.started && !hooks.finished) return;
  to_ = std::make_shared<listeners>(std::move(how.on_event));
  // What a hook refers to may be gone with the caller.
  const auto guarded = [this](auto& hook) {
    if (!hook) return;
    hook = [to = to_, theirs = std::move(hook)](run_scope& run, auto& what) {
      to->refuse_if_dropped();
      return theirs(run, what);
    };
  };
  guarded(hooks.before);
  guarded(hooks.approve);
  guarded(hooks.after);
  if (to_->listens() || hooks.started) {
    hooks.started = [to = to_, theirs = std::move(hooks.started)](const llm::tool_call& call) {
      loop_event what(loop_event::kind::tool_started, to->turn);
      what.call = &call;
      to->tell(what);
      to->call(theirs, call);
    };
  }
  if (to_->listens() || hooks.finished) {
    hooks.finished = [to = to_, theirs = std::move(hooks.finished)](const tool_result& result) {
      loop_event what(loop_event::kind::tool_finished, to->turn);
      what.call = &result.call;
      what.result = &result;
      to->tell(what);
      to->call(theirs, result);
    };
  }
}

loop_report::~loop_report() {
  if (to_) to_->drop();
}

void loop_report::turn(int number) {
  if (!to_ || std::exchange(to_->turn, number) == number) return;
  to_->tell(loop_event(loop_event::kind::turn_started, number));
}

void loop_report::text(std::string_view said) { tell_text(loop_event::kind::text, said); }
void loop_report::reasoning(std::string_view said) { tell_text(loop_event::kind::reasoning, said); }
void loop_report::warning(std::string_view line) { tell_text(loop_event::kind::warning, line); }

void loop_report::usage(const llm::token_usage& taken) {
  if (!to_) return;
  loop_event what(loop_event::kind::usage, to_->turn);
  what.usage = taken;
  to_->tell(what);
}

void loop_report::tell_text(loop_event::kind which, std::string_view said) {
  if (!to_ || said.empty()) return;
  loop_event what(which, to_->turn);
  what.text = said;
  to_->tell(what);
}

}  // namespace sluice::agent::detail
