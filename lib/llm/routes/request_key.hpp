/// \file
/// `request_key`: all of a request as one text, for telling whether two are the same.
#pragma once

#include <sluice/llm/request.hpp>

#include <string>

namespace sluice::llm::detail {

/// Equal for equal requests, and for no others: every field, with its length before it. Not for people, and not stable
/// between versions. O(size of the request).
[[nodiscard]] std::string request_key(const request& of);

}  // namespace sluice::llm::detail
