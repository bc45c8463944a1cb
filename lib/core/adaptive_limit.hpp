/// \file
/// A limit on slots that follows what the provider can carry.
#pragma once

#include "core/fitted_line.hpp"
#include "core/service_sample.hpp"

#include <sluice/core/adaptive.hpp>
#include <sluice/core/time.hpp>

#include <cstdint>

namespace sluice::core {

/// Additive increase, multiplicative decrease.
///
/// *Decrease*: by `backoff` (at least by one), at most once per `window`, on any signal of the provider, or when it got
/// slower.
/// *Growth*: only through completions of work that started after the last decrease, and while the limit was what work
/// waited for; at most once per `window`, and never to more than double. It knows the limit at which trouble came last,
/// and has four speeds: without such a limit, one per completion; up to nine tenths of it, the same; around it, one per
/// as many completions as the limit, and a few times more patiently before the step that failed last time; beyond it, a
/// quarter of itself per as many completions, since the provider's capacity has evidently grown. Trouble at the minimum
/// is not the limit's doing: what was known is dropped.
///
/// *Slower* (with a `tolerance`) compares each completion with what one of its input and output length took when all
/// was well: at the lowest number in flight that has been seen, kept while more is in flight, and slowly renewed by
/// completions at no more than that. It counts when time to first token and time after it both exceed `tolerance` times
/// that, on average over the recent ones, and more was in flight than then. Completions without a known first token say
/// nothing about speed.
///
/// An instant earlier than a former one counts as the former one. All: O(1).
class adaptive_limit {
 public:
  /// Puts `rules` in force for a pool of `slots`. What is known stays; the limit stays within its new bounds, and
  /// follows `slots` when it stood at their old number. When it is off, the limit is `slots`.
  void configure(const adaptive_policy& rules, std::int64_t slots) noexcept;

  [[nodiscard]] bool enabled() const noexcept { return rules_.enabled; }
  /// How many slots may be held now.
  [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }
  /// Why it changed last.
  [[nodiscard]] limit_change reason() const noexcept { return reason_; }

  /// The provider signalled trouble. Whether the limit changed.
  bool signal(provider_signal what, instant now) noexcept;

  /// Work ran to its end; not for what failed, timed out, was cancelled or preempted. `in_flight_at_start`: slots held
  /// when it started, its own included. `limit_was_binding`: work waited for this limit while it ran, or does now. What
  /// is not `usable` changes nothing. Whether the limit changed.
  bool sample(const service_sample& what, std::int64_t in_flight_at_start, bool limit_was_binding,
              instant now) noexcept;

 private:
  void compare(const service_sample& what, double in_flight, bool current) noexcept;
  [[nodiscard]] bool slower() const noexcept;
  bool decrease(limit_change why) noexcept;
  bool grow() noexcept;
  bool move(std::int64_t wished, limit_change why) noexcept;
  /// Whether there were `window` and more since `then`.
  [[nodiscard]] bool window_since(instant then) const noexcept;
  [[nodiscard]] std::int64_t bounded(std::int64_t wished) const noexcept;

  adaptive_policy rules_{};
  std::int64_t slots_ = -1;
  std::int64_t limit_ = 0;
  limit_change reason_ = limit_change::none;

  /// The limit at which trouble came last; zero: none is known.
  std::int64_t failed_ = 0;
  /// How many times as many completions the step to `failed_` takes.
  std::int64_t patience_ = 1;
  /// Completions since the limit last changed that count for growth.
  std::int64_t completions_ = 0;
  instant now_ = instant::min();
  instant last_decrease_ = instant::min();
  instant last_change_ = instant::min();

  /// When all was well: how long work of each length took, and how much was in flight.
  fitted_line first_token_;
  fitted_line after_first_token_;
  double calm_in_flight_ = 0;
  /// Averages over recent completions: how many times as long as then, and how much was in flight.
  std::uint32_t compared_ = 0;
  double prompt_slowness_ = 1;
  double output_slowness_ = 1;
  double in_flight_ = 0;
};

}  // namespace sluice::core
