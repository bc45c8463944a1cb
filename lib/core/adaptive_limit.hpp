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
/// and has four speeds. Without such a limit: one per completion. Up to nine tenths of it: the same. From there, per as
/// many completions as the limit, a sixteenth of it (at least one), up to the last one below it; the step to where
/// trouble came takes up to three times as many, when it has failed before. Beyond it, per as many completions as the
/// limit, a quarter (at least one): there is evidently more room than there was. Trouble at the minimum is not the
/// limit's doing: what was known is dropped.
///
/// *Slower* (with a `tolerance`) compares each completion with what one of its input and output length took when all
/// was well: in the first five completions at first, kept while more is in flight than then, and slowly renewed by
/// those with no more in flight, so that it comes to be how things are at low use. It counts when time to first token
/// and time after it both exceed `tolerance` times that, on average over the recent ones, and more was in flight than
/// then. When three decreases in a row for this reason made nothing faster, though less was in flight after each, how
/// things were is forgotten and learned anew. Completions without a known first token say nothing about speed.
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
  bool yield() noexcept;
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
  fitted_line first_token_{1.0 / 32};
  fitted_line after_first_token_{1.0 / 32};
  double calm_in_flight_ = 0;
  /// Averages over recent completions: how many times as long as then, and how much was in flight.
  std::uint32_t compared_ = 0;
  double prompt_slowness_ = 1;
  double output_slowness_ = 1;
  double in_flight_ = 0;
  /// The same when it last shrank because of them; nothing in flight: it did not, or for another reason since.
  double yielded_slowness_ = 0;
  double yielded_in_flight_ = 0;
  /// How many decreases in a row made nothing faster.
  int futile_ = 0;
};

}  // namespace sluice::core
