#include "testing/wire_dialect.hpp"

namespace sluice::testing {

const wire_dialect& wire_dialect_of(mock_dialect which) noexcept {
  switch (which) {
    case mock_dialect::openai_responses: return responses_wire();
    case mock_dialect::anthropic_messages: return messages_wire();
    case mock_dialect::openai_chat: break;
  }
  return chat_wire();
}

std::optional<mock_dialect> dialect_of_path(std::string_view path) noexcept {
  if (path == "/v1/chat/completions") return mock_dialect::openai_chat;
  if (path == "/v1/responses") return mock_dialect::openai_responses;
  if (path == "/v1/messages") return mock_dialect::anthropic_messages;
  return std::nullopt;
}

}  // namespace sluice::testing
