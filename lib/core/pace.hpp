/// \file
/// How the provider's pace depends on how much runs at once, and how much may run for work to be done in time.
#pragma once

#include "core/fitted_line.hpp"
#include "core/service_sample.hpp"

#include <sluice/core/time.hpp>

#include <algorithm>
#include <cstdint>

namespace sluice::core {

/// Time per output token as a straight line over the number in flight, `fixed + slope * n`, which is what a provider
/// does that shares one machine among all (`1 + sigma (n - 1)` in the universal scalability law without its last term).
///
/// sample: O(1). No allocation.
class pace {
 public:
  /// Fewer completions say nothing, nor do answers so short that their time is mostly something else.
  static constexpr std::uint32_t fewest_samples = 10;
  static constexpr std::int64_t shortest_answer = 8;

  /// Work ran to its end with so many in flight, on average.
  void sample(const service_sample& what, double in_flight) noexcept {
    if (!what.first_token_known() || what.output_tokens < shortest_answer) return;
    const auto rest = static_cast<double>((what.total - what.to_first_token).count());
    line_.add(in_flight, rest / static_cast<double>(what.output_tokens));
    in_flight_ += (in_flight - in_flight_) / static_cast<double>(std::min(line_.points(), span));
  }

  [[nodiscard]] bool known() const noexcept { return line_.points() >= fewest_samples; }

  /// How many times as long work takes with so many in flight as at the pace of recent completions; 1 when that is not
  /// known.
  [[nodiscard]] double slowness(double in_flight) const noexcept {
    if (!known()) return 1;
    const auto line = line_.solve();
    const double recently = line.at(in_flight_);
    return recently > 0 ? line.at(in_flight) / recently : 1;
  }

  /// Time per output token with so many in flight, in nanoseconds.
  [[nodiscard]] double at(double in_flight) const noexcept { return line_.solve().at(in_flight); }

  /// How many may run at once for the time per output token to be at most `wanted` nanoseconds; at least one.
  [[nodiscard]] std::int64_t most_for(double wanted) const noexcept {
    const auto line = line_.solve();
    if (line.slope <= 0) return unlimited_pace;
    return static_cast<std::int64_t>(
        std::clamp((wanted - line.fixed) / line.slope, 1.0, static_cast<double>(unlimited_pace)));
  }

 private:
  /// As the service model's lines, so that both speak of the same completions.
  static constexpr std::uint32_t span = 10;
  static constexpr std::int64_t unlimited_pace = std::int64_t{1} << 31;

  fitted_line line_{1.0 / 64};
  /// The average of recent completions.
  double in_flight_ = 0;
};

}  // namespace sluice::core
