/// \file
/// The policy and the request under which sluice is measured: four classes with floors, ceilings and priorities, slots
/// and tokens both limited.
#pragma once

#include <sluice/core/policy.hpp>
#include <sluice/core/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace bars {

inline constexpr std::int64_t slots = 32;
inline constexpr std::size_t class_count = 4;
inline constexpr sluice::cost one_call{.tokens = 1'600, .output_tokens = 400, .slots = 1};

[[nodiscard]] inline sluice::policy four_classes() {
  sluice::policy rules({slots, slots * 2'000});
  for (const char* name : {"background", "offline"}) {
    sluice::class_policy added(name);
    added.ceiling = {slots / 2, slots * 1'000};
    rules.add_class(added);
  }
  rules[sluice::interactive].floor = {8, 16'000};
  rules[sluice::batch].floor = {4, 8'000};
  rules.classes[2].floor = {2, 4'000};
  rules.classes[2].priority = -10;
  rules.classes[3].floor = {2, 4'000};
  rules.classes[3].priority = -20;
  // A ceiling that follows the clock would let more and less pass from second to second.
  rules[sluice::batch].elastic.enabled = false;
  rules.max_waiting = std::numeric_limits<std::size_t>::max();
  return rules;
}

[[nodiscard]] inline sluice::workload class_of(std::size_t number) {
  return sluice::workload(static_cast<std::uint8_t>(number % class_count));
}

}  // namespace bars
