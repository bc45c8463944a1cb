/// \file
/// A request as OpenAI's chat completions want it.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/request.hpp>

#include <string>

namespace sluice::llm {

/// How to write it. Values alone.
struct chat_encoding {
  output_limit_field output_limit = output_limit_field::max_completion_tokens;
  bool streamed = false;
  bool ask_usage = false;
};

/// The body of `POST /chat/completions`. Bytes that are no UTF-8 become U+FFFD.
/// Errors: `errc::invalid_argument`, naming the field that does not hold.
[[nodiscard]] expected<std::string, error> encode_chat(const request& asked, const chat_encoding& how);

}  // namespace sluice::llm
