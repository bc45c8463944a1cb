/// \file
/// `attempt`: whether work is done for the first time; `retry_budget`: how much of the capacity second times may take.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace sluice {

/// Which try it is.
enum class attempt : std::uint8_t {
  /// The first.
  first,
  /// One more, after a failure.
  retry,
  /// One more beside another that is still under way.
  hedge,
};

/// How many there are.
inline constexpr std::size_t attempt_count = static_cast<std::size_t>(attempt::hedge) + 1;

[[nodiscard]] std::string_view to_string(attempt value) noexcept;

/// How much retries and hedges together may be of what is done for the first time. A provider that fails gets little
/// more than it would have got, whatever each caller's patience.
///
/// Counted in reserved tokens over a window that slides in sixteenths: first attempts when they start, a retry or hedge
/// from its arrival while it waits, and for a window from its start. So many that come together are not let through by
/// waiting together; one that goes without having started gives its place back. It is let in only if, with it, those in
/// the window are at most `share` of the first attempts' tokens in it, or they are no more than `minimum` in number.
/// Otherwise it is refused at once (`reason::retry_budget`), and never waits. Work that was preempted comes again as a
/// `first`, whatever it was, and counts as neither.
struct retry_budget {
  bool enabled = true;
  /// Of the fresh tokens, in [0, 1].
  double share = 0.2;
  /// So many in a window are always allowed.
  std::int64_t minimum = 3;
  /// Should be longer than the longest call.
  duration window = std::chrono::minutes(2);
  friend constexpr bool operator==(const retry_budget&, const retry_budget&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<retry_budget> && std::is_aggregate_v<retry_budget>);

}  // namespace sluice
