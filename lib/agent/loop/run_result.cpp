#include <sluice/agent/run_result.hpp>

namespace sluice::agent {

std::string_view to_string(run_outcome value) noexcept {
  switch (value) {
    case run_outcome::complete: return "complete";
    case run_outcome::partial: return "partial";
    case run_outcome::budget_exhausted: return "budget_exhausted";
  }
  return "unknown";
}

std::string_view to_string(run_stop value) noexcept {
  switch (value) {
    case run_stop::answer: return "answer";
    case run_stop::turns: return "turns";
    case run_stop::budget: return "budget";
    case run_stop::deadline: return "deadline";
    case run_stop::cut_off: return "cut_off";
    case run_stop::failed: return "failed";
    case run_stop::cancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace sluice::agent
