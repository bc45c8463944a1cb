/// \file
/// `provider_limits`: what a provider said about its rate limits in answer to a request.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/time.hpp>

#include <cstdint>
#include <type_traits>

namespace sluice {

/// One axis, as far as it was said.
struct provider_limit {
  /// So much a minute; `unlimited`: not said.
  std::int64_t per_minute = unlimited;
  /// What is left of it now; `unlimited`: not said.
  std::int64_t remaining = unlimited;
  /// How long until all of it is there again; negative: not said.
  duration reset = duration(-1);
  friend constexpr bool operator==(const provider_limit&, const provider_limit&) noexcept = default;
};

/// All axes. `tokens` is for providers that count input and output together.
struct provider_limits {
  provider_limit requests{};
  provider_limit input_tokens{};
  provider_limit output_tokens{};
  provider_limit tokens{};
  friend constexpr bool operator==(const provider_limits&, const provider_limits&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<provider_limits> && std::is_aggregate_v<provider_limits>);

}  // namespace sluice
