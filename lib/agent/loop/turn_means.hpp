/// \file
/// `turn_means`: what a run can pay for one answer of its model, and how long that answer may then be.
#pragma once

#include <sluice/agent/loop_options.hpp>
#include <sluice/core/cost.hpp>
#include <sluice/core/run.hpp>

#include <cstdint>

namespace sluice::agent::detail {

/// What there is for requests, should all that is set aside now come back: a request that has to wait for that waits at
/// the gate.
struct turn_means {
  /// For ordinary work.
  spending working{};
  /// The same, and what a root has kept for its last answer.
  spending last{};
};

[[nodiscard]] turn_means means_of(const run_balance& account, bool is_root) noexcept;

/// What one request takes, by estimate.
struct turn_size {
  std::int64_t input = 0;
  /// How many answers it asks for.
  std::int64_t answers = 1;
  /// The longest answer that is wanted.
  std::int64_t wanted = 0;
  /// The shortest that is worth asking for.
  std::int64_t least = 0;
  /// By how much the next request will be longer, as far as can be told.
  std::int64_t growth = 0;

  /// The longest answer that so many tokens pay for beside the input; less than `least` when it is not worth it.
  [[nodiscard]] std::int64_t output_for(std::int64_t tokens) const noexcept;
  /// What it takes at least; and one more after it.
  [[nodiscard]] std::int64_t fewest() const noexcept;
  [[nodiscard]] std::int64_t fewest_of_another() const noexcept;
  /// Whether `some` pays for it, and whether there would be something left for another one after it.
  [[nodiscard]] bool is_paid_by(const spending& some) const noexcept;
  [[nodiscard]] bool leaves_another(const spending& some) const noexcept;
};

/// `estimated`: of a request with a limit of `wanted`.
[[nodiscard]] turn_size size_of(const cost& estimated, std::int64_t wanted, const loop_options& how) noexcept;

}  // namespace sluice::agent::detail
