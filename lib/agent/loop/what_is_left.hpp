/// \file
/// `what_is_left`: what a model is told of the time and the budget that are left.
#pragma once

#include <sluice/core/run.hpp>
#include <sluice/core/time.hpp>

#include <string>

namespace sluice::agent::detail {

/// "about 20 s, 3,000 tokens and 4 tool calls left": rounded down, since nobody should count on more. What has no limit
/// (`duration::max()`, `unlimited`) is left out; empty when nothing has one.
[[nodiscard]] std::string what_is_left(duration time, const spending& some);

/// A length for people: `0.4 s`, `20 s`, `5 minutes`, `2 hours`; rounded down.
[[nodiscard]] std::string rounded(duration time);

}  // namespace sluice::agent::detail
