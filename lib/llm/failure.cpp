#include <sluice/llm/failure.hpp>

namespace sluice::llm {

std::string_view to_string(call_phase value) noexcept {
  switch (value) {
    case call_phase::preparing: return "preparing";
    case call_phase::queued: return "queued";
    case call_phase::sent: return "sent";
    case call_phase::answering: return "answering";
  }
  return "unknown";
}

}  // namespace sluice::llm
