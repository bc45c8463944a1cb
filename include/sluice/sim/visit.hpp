/// \file
/// `sim::visit`: what one request of a trial has lived through.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>

#include <cstdint>

namespace sluice::sim {

/// A plain record, written when the request is over for good.
struct visit {
  /// Its number in order of arrival, from 0.
  std::uint64_t number = 0;
  sluice::workload workload{};
  bool succeeded = false;
  instant arrival{};
  /// Of the attempt that succeeded; `never` when none did.
  instant first_token = never;
  /// When it had its answer or its caller gave up; `never` when it still waited at the end of the trial.
  instant end = never;
  /// Attempts that were made, 1 at least.
  std::uint32_t attempts = 0;
  /// How many of them the arm turned away, the provider answered with 429, and the arm stopped.
  std::uint32_t refusals = 0;
  std::uint32_t rejections = 0;
  std::uint32_t preemptions = 0;
  /// What the provider did for it in all, and how much of that came to nothing.
  std::int64_t tokens = 0;
  std::int64_t wasted_tokens = 0;

  [[nodiscard]] constexpr duration latency() const noexcept { return end == never ? duration::max() : end - arrival; }
  [[nodiscard]] constexpr duration time_to_first_token() const noexcept {
    return first_token == never ? duration::max() : first_token - arrival;
  }
};

}  // namespace sluice::sim
