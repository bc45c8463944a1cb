/// \file
/// Times, as the providers' headers have them.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <string>

namespace sluice::testing {

/// `1`, `0.25`: seconds as in `retry-after`.
[[nodiscard]] std::string decimal_seconds(duration length);
/// `0s`, `20ms`, `1.5s`, `6m0s`, `1h2m3s`: as in `x-ratelimit-reset-*`.
[[nodiscard]] std::string go_duration(duration length);
/// `2026-01-31T08:05:00Z`: as in `anthropic-ratelimit-*-reset`. Rounded up to whole seconds.
[[nodiscard]] std::string rfc3339(std::chrono::system_clock::time_point when);

}  // namespace sluice::testing
