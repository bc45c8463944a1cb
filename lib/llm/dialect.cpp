#include <sluice/llm/dialect.hpp>

namespace sluice::llm {

std::string_view to_string(dialect value) noexcept {
  switch (value) {
    case dialect::openai_chat: return "openai-chat";
    case dialect::openai_responses: return "openai-responses";
    case dialect::anthropic_messages: return "anthropic-messages";
  }
  return "unknown";
}

}  // namespace sluice::llm
