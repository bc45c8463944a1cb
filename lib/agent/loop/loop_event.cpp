#include <sluice/agent/loop_event.hpp>

namespace sluice::agent {

std::string_view to_string(loop_event::kind value) noexcept {
  switch (value) {
    case loop_event::kind::turn_started: return "turn_started";
    case loop_event::kind::text: return "text";
    case loop_event::kind::reasoning: return "reasoning";
    case loop_event::kind::tool_started: return "tool_started";
    case loop_event::kind::tool_finished: return "tool_finished";
    case loop_event::kind::usage: return "usage";
    case loop_event::kind::warning: return "warning";
  }
  return "unknown";
}

}  // namespace sluice::agent
