/// \file
/// What a provider's headers say about its rate limits.
#pragma once

#include <sluice/core/provider_limits.hpp>
#include <sluice/http/transport.hpp>

#include <optional>
#include <vector>

namespace sluice::llm {

/// Reads `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, also with `input-tokens` and `output-tokens`, and
/// `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}`. Nothing when none of
/// them is there.
///
/// A reset is a length (`6m0s`, `20ms`, `17.5s`), seconds, or an instant: RFC 3339, an HTTP date, or seconds or
/// milliseconds since 1970, seen from the server's own `date` header; the local clock plays no part. What cannot be
/// read was not said.
[[nodiscard]] std::optional<provider_limits> rate_limits_of(const std::vector<http::header>& headers);

}  // namespace sluice::llm
