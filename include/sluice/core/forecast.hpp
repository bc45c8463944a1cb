/// \file
/// `forecast`: what would become of work that asked now.
#pragma once

#include <sluice/core/time.hpp>

#include <optional>
#include <type_traits>

namespace sluice {

/// It would be let in: at once, or after a wait.
struct forecast {
  /// Whether it would start in the moment in which it asks.
  bool at_once = false;
  /// Otherwise, how long it would wait, as far as is known: exact for a rate that nothing else is charged to, else an
  /// estimate by the measured drain rate.
  std::optional<duration> wait{};
};
static_assert(std::is_trivially_destructible_v<forecast> && std::is_aggregate_v<forecast>);

}  // namespace sluice
