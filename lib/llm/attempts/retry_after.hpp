/// \file
/// How long a provider asks to wait.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/http/transport.hpp>

#include <optional>
#include <vector>

namespace sluice::llm {

/// What the headers ask for: `retry-after-ms`, else `retry-after` in seconds, also with a fraction, else `retry-after`
/// as an HTTP date, seen from the server's own `date` header; the local clock plays no part, and without a `date` a
/// date is no answer. A date in the past is zero. Nothing when none of them can be read, or a number is negative.
[[nodiscard]] std::optional<duration> retry_after(const std::vector<http::header>& headers);

}  // namespace sluice::llm
