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
/// Anthropic's limits are of a minute. Others are as a rule, and other windows are told by their resets. What is there
/// again only after more than a minute is of a longer window, a day's as a rule, which cannot be kept as a rate:
/// nothing is said of that axis. What is there again long before a minute's share of it could be is of a shorter
/// window, or of the end of one: the limit is then the most that it can be in a minute, all of it in each such time.
///
/// A reset is a length (`6m0s`, `20ms`, `17.5s`), seconds, or an instant: RFC 3339, an HTTP date, or seconds or
/// milliseconds since 1970, seen from the server's own `date` header; the local clock plays no part. What cannot be
/// read was not said.
[[nodiscard]] std::optional<provider_limits> rate_limits_of(const std::vector<http::header>& headers);

}  // namespace sluice::llm
