#include <sluice/agent/tool_result.hpp>

namespace sluice::agent {

std::string_view to_string(tool_outcome value) noexcept {
  switch (value) {
    case tool_outcome::answered: return "answered";
    case tool_outcome::failed: return "failed";
    case tool_outcome::invalid: return "invalid";
    case tool_outcome::refused: return "refused";
    case tool_outcome::timed_out: return "timed_out";
    case tool_outcome::cancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace sluice::agent
