/// \file
/// Limits that move by what the provider and the urgent work live through: `adaptive_policy` for the pool,
/// `elastic_policy` for a class, and the signals that move them.
#pragma once

#include <sluice/core/time.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace sluice {

/// What a provider said, or did not say, about one attempt. Only what is about its load; a bad request is none.
enum class provider_signal : std::uint8_t {
  /// It asked to slow down (429).
  rate_limited,
  /// It is overloaded (503, 529).
  overloaded,
  /// It did not answer in time.
  timed_out,
};

/// How the limit on slots follows the provider: additive increase, multiplicative decrease.
///
/// It shrinks by `backoff`, at most once in a `window`, when the provider signals trouble, or when time to first token
/// per input token and time per output token have both risen beyond `tolerance` times what they were when all was well
/// while more ran at once. It grows, faster at first, only while it is itself what work waits for.
struct adaptive_policy {
  bool enabled = false;
  /// Never below this, nor above the pool's slots.
  std::int64_t minimum = 1;
  /// What it starts from; zero: the pool's slots.
  std::int64_t initial = 0;
  /// The factor of a decrease, in (0, 1).
  double backoff = 0.7;
  /// How much slower than its best the provider may get before that counts as trouble, as a factor above 1; zero: its
  /// speed does not matter.
  double tolerance = 0;
  /// The least time between two decreases, and between two increases.
  duration window = std::chrono::seconds(1);
  friend constexpr bool operator==(const adaptive_policy&, const adaptive_policy&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<adaptive_policy> && std::is_aggregate_v<adaptive_policy>);

/// How a class makes room before anybody is hurt: a ceiling on its slots that falls while classes of higher priority
/// suffer, and rises while they do not.
struct elastic_policy {
  bool enabled = false;
  /// Never below this, so that the class does not starve.
  std::int64_t minimum = 1;
  /// The factor of a decrease, in (0, 1).
  double backoff = 0.5;
  /// The classes above suffer when one of their waiters is older than this; or when their first tokens took longer than
  /// this since they arrived, and twice as long as when all was calm, on (weighted) average.
  duration target = std::chrono::milliseconds(300);
  /// The least time between two changes.
  duration window = std::chrono::seconds(1);
  /// How long the class may be kept from starting anything when those above begin to suffer, its floor lent to them;
  /// after that it has `minimum` again, until they have not suffered for as long.
  duration pause{};
  friend constexpr bool operator==(const elastic_policy&, const elastic_policy&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<elastic_policy> && std::is_aggregate_v<elastic_policy>);

/// Why a moving limit changed.
enum class limit_change : std::uint8_t {
  /// It did not.
  none,
  /// The provider asked to slow down.
  rate_limited,
  /// The provider was overloaded.
  overloaded,
  /// Too much timed out.
  timed_out,
  /// The provider got slower as more ran at once.
  slower,
  /// More urgent work suffers.
  pressure,
  /// It was what work waited for, and all was well: it grew quickly.
  slow_start,
  /// It was what work waited for, and all was well: it grew by one.
  probe,
  /// The policy changed.
  reconfigured,
};

}  // namespace sluice
