/// \file
/// `mock_dialect`: which of the providers' interfaces a request used.
#pragma once

#include <cstdint>

namespace sluice::testing {

/// Told by the path alone. A mock provider speaks all of them at once.
enum class mock_dialect : std::uint8_t {
  /// `POST /v1/chat/completions`.
  openai_chat,
  /// `POST /v1/responses`.
  openai_responses,
  /// `POST /v1/messages`.
  anthropic_messages,
};

}  // namespace sluice::testing
