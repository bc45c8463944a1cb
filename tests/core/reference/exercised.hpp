/// \file
/// What a test has come through, so that it can be seen to be worth something.
#pragma once

#include <sluice/core/admission.hpp>
#include <sluice/core/event.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

namespace sluice::core::testing {

/// How often each thing happened.
struct exercised {
  std::array<std::uint64_t, std::variant_size_v<event_body>> events{};
  std::array<std::uint64_t, static_cast<std::size_t>(effect::kind::stop) + 1> effects{};
  std::array<std::uint64_t, static_cast<std::size_t>(reason::retry_budget) + 1> reasons{};
  std::array<std::uint64_t, constraint_count> bounds{};
  std::uint64_t observed = 0;
  /// Forecasts; and of those, what came otherwise because others were set in motion by the one who came.
  std::uint64_t foretold = 0;
  std::uint64_t passed = 0;

  template <typename Array>
  static void add(Array& to, const Array& more) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
  }
  void operator+=(const exercised& other) {
    add(events, other.events);
    add(effects, other.effects);
    add(reasons, other.reasons);
    add(bounds, other.bounds);
    observed += other.observed;
    foretold += other.foretold;
    passed += other.passed;
  }
  template <typename Array, typename Value>
  static std::uint64_t of(const Array& some, Value which) {
    return some[static_cast<std::size_t>(which)];
  }
};

}  // namespace sluice::core::testing
