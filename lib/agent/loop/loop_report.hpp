/// \file
/// `loop_report`: what a tool loop tells its caller while it goes on.
#pragma once

#include <sluice/agent/loop_event.hpp>
#include <sluice/agent/loop_options.hpp>
#include <sluice/agent/run_result.hpp>
#include <sluice/agent/tool_hooks.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/tool_call.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::agent::detail {

/// What its listeners throw is dropped. Thread safety: one caller at a time, and `drop`. Both must outlive it, and it
/// its hooks.
class loop_report {
 public:
  loop_report(loop_options& how, run_result& into);
  loop_report(const loop_report&) = delete;
  loop_report& operator=(const loop_report&) = delete;

  /// The number of the turn under way, from 1. Says so when it is a new one.
  void turn(int number);
  void text(std::string_view said);
  void reasoning(std::string_view said);
  void usage(const llm::token_usage& taken);
  /// Also into the result.
  void warn(std::string line);
  /// Of a call that no toolbox was asked to carry out.
  void finished(const tool_result& result);

  /// From now on nobody is told anything, and hooks refuse. Waits while a listener is being told something on another
  /// thread.
  void drop() noexcept;
  [[nodiscard]] bool dropped() const noexcept { return dropped_.load(std::memory_order_acquire); }

  /// The caller's own, with the events of tools beside them.
  [[nodiscard]] const tool_hooks& hooks() const noexcept { return how_.hooks; }

 private:
  [[nodiscard]] bool listens() const noexcept { return static_cast<bool>(how_.on_event); }
  template <typename Listener, typename What>
  void call_quietly(const Listener& listener, const What& what) noexcept;
  void tell(const loop_event& what) noexcept;
  void tell_text(loop_event::kind which, std::string_view said);

  loop_options& how_;
  run_result& into_;
  int turn_ = 0;
  std::atomic<bool> dropped_{false};
  /// Held while a listener is told. One may drop the caller itself.
  std::recursive_mutex telling_;
};

}  // namespace sluice::agent::detail
