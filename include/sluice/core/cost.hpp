/// \file
/// What work asks for, holds and really takes: `capacity`, `cost`, `usage`, `progress`. All are numbers alone, so they
/// may be written in braces inside a `co_await` expression.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace sluice {

/// For a capacity, a ceiling, a rate, a budget or a queue that has no limit.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// What there is, or a part of it: concurrency slots and in-flight tokens. Neither is negative.
struct capacity {
  std::int64_t slots = 0;
  std::int64_t tokens = 0;
  friend constexpr bool operator==(const capacity&, const capacity&) noexcept = default;
};

/// What one piece of work asks for. Negative numbers are refused as `invalid_cost`; more than the class or the pool
/// could ever hold as `impossible`.
struct cost {
  /// Tokens in all: the estimated input and the output that is reserved for the answer (`max_tokens`).
  std::int64_t tokens = 0;
  /// Of `tokens`, how many are the reserved output. The rest is input, and comes back when the prompt has been
  /// processed. Zero means that the split is not known.
  std::int64_t output_tokens = 0;
  /// Concurrency slots; one exchange with a provider is one slot.
  std::int64_t slots = 1;
  friend constexpr bool operator==(const cost&, const cost&) noexcept = default;
};

/// What was really taken, as the provider counts it: cumulative over the exchange, never negative. More than 2^40 is
/// not credible: `reconcile` refuses it, and `settle` counts it as 2^40.
struct usage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  friend constexpr bool operator==(const usage&, const usage&) noexcept = default;
};

/// How far a running exchange has come. Reports are cumulative; a later report with smaller numbers changes nothing.
///
/// When `remaining_output` is told, the hold becomes `remaining_output + margin + overrun`: the prompt has been
/// processed and its part goes back. When it is not (negative), the hold is `input_tokens + max(reserved output,
/// output_tokens)`. `overrun` is what was produced beyond the reserved output.
struct progress {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  /// The most that may still be produced; at most what was reserved for output. Negative: not known.
  std::int64_t remaining_output = -1;
  /// Tokens kept on top, because usage is reported late.
  std::int64_t margin = 128;
};

static_assert(std::is_trivially_destructible_v<cost> && std::is_aggregate_v<cost>);
static_assert(std::is_trivially_destructible_v<usage> && std::is_trivially_destructible_v<progress>);

}  // namespace sluice
