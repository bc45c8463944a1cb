/// \file
/// `loop_report`: what a tool loop tells its listeners while it goes on.
#pragma once

#include <sluice/agent/loop_event.hpp>
#include <sluice/agent/loop_options.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/llm/reply.hpp>

#include <memory>
#include <string_view>

namespace sluice::agent::detail {

/// Costs a pointer when nobody listens. What listeners throw is dropped.
///
/// Of a loop's hooks, which it wraps, those may outlive the loop: calls of a turn that was dropped are still ending
/// then, perhaps on another thread. Once this is gone no listener is called, and hooks refuse; its destructor waits
/// for a listener that is being told something on another thread. Thread safety: one caller at a time.
class loop_report {
 public:
  /// Takes the listener, and puts `how.hooks` in between.
  explicit loop_report(loop_options& how);
  loop_report(const loop_report&) = delete;
  loop_report& operator=(const loop_report&) = delete;
  ~loop_report();

  /// The number of the turn under way, from 1. Says so when it is a new one.
  void turn(int number);
  void text(std::string_view said);
  void reasoning(std::string_view said);
  void usage(const llm::token_usage& taken);
  void warning(std::string_view line);

 private:
  class listeners;

  void tell_text(loop_event::kind which, std::string_view said);

  std::shared_ptr<listeners> to_;
};

}  // namespace sluice::agent::detail
