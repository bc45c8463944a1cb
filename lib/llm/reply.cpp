#include <sluice/llm/reply.hpp>

namespace sluice::llm {

std::string_view to_string(finish_reason value) noexcept {
  switch (value) {
    case finish_reason::none: return "none";
    case finish_reason::stop: return "stop";
    case finish_reason::length: return "length";
    case finish_reason::tool_calls: return "tool_calls";
    case finish_reason::content_filter: return "content_filter";
    case finish_reason::refusal: return "refusal";
    case finish_reason::paused: return "paused";
    case finish_reason::other: return "other";
  }
  return "unknown";
}

}  // namespace sluice::llm
