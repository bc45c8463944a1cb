/// \file
/// `dialect`: which of the providers' interfaces a server speaks.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::llm {

/// One request and one reply type stand before all of them. What a dialect cannot express is `errc::invalid_argument`,
/// naming the field; nothing is dropped in silence.
enum class dialect : std::uint8_t {
  /// `POST /chat/completions`: OpenAI, and the many servers that imitate it (vLLM, llama.cpp, Ollama, ...).
  openai_chat,
  /// `POST /responses`: OpenAI's newer interface.
  openai_responses,
  /// `POST /messages`: Anthropic.
  anthropic_messages,
};

/// `openai-chat`, `openai-responses`, `anthropic-messages`.
[[nodiscard]] std::string_view to_string(dialect value) noexcept;

}  // namespace sluice::llm
