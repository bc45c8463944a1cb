/// \file
/// A request as OpenAI's Responses want it.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/request.hpp>

#include "llm/dialects/wire_format.hpp"

#include <string>

namespace sluice::llm {

/// The body of `POST /responses`. System messages at the start become `instructions`, later ones items. Bytes that are
/// no UTF-8 become U+FFFD. Errors: `errc::invalid_argument`, naming the field that does not hold, or that cannot be
/// expressed: `seed`, `stop`.
[[nodiscard]] expected<std::string, error> encode_responses(const request& asked, const encoding& how);

}  // namespace sluice::llm
