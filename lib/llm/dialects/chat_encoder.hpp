/// \file
/// A request as OpenAI's chat completions want it.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/request.hpp>

#include "llm/dialects/wire_format.hpp"

#include <string>

namespace sluice::llm {

/// The body of `POST /chat/completions`. Bytes that are no UTF-8 become U+FFFD.
/// Errors: `errc::invalid_argument`, naming the field that does not hold.
[[nodiscard]] expected<std::string, error> encode_chat(const request& asked, const encoding& how);

}  // namespace sluice::llm
