/// \file
/// A request as Anthropic's Messages want it.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/request.hpp>

#include "llm/dialects/wire_format.hpp"

#include <string>

namespace sluice::llm {

/// The body of `POST /messages`. System messages at the start become `system`; neighbours of one role become one
/// message, in which the results of tools come first. Bytes that are no UTF-8 become U+FFFD. Errors:
/// `errc::invalid_argument`, naming the field that does not hold, or that cannot be expressed: `seed`,
/// `reasoning_effort`, `format`, a tool's `strict`, a system message later on.
[[nodiscard]] expected<std::string, error> encode_messages(const request& asked, const encoding& how);

}  // namespace sluice::llm
