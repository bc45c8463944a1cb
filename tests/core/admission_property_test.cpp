#include "core/double_run.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::double_run;
using sluice::core::testing::exercised;
using sluice::core::testing::flavour;
using sluice::core::testing::raw_event;

namespace rc {

template <>
struct Arbitrary<raw_event> {
  static Gen<raw_event> arbitrary() {
    const auto number = gen::inRange<std::uint32_t>(0, 1U << 20);
    return gen::build<raw_event>(gen::set(&raw_event::kind, gen::inRange<std::uint32_t>(0, 100)),
                                 gen::set(&raw_event::a, number), gen::set(&raw_event::b, number),
                                 gen::set(&raw_event::c, number),
                                 gen::set(&raw_event::d, gen::inRange<std::uint32_t>(0, 64)));
  }
};

}  // namespace rc

TEST_CASE("any events have the effects of the reference model, and break no invariant") {
  const bool holds = rc::check("machine and model agree", [](std::uint32_t seed, const std::vector<raw_event>& events) {
    double_run run(seed, seed % 2 == 0 ? flavour::any : flavour::lending, 2 + seed / 2 % 15);
    for (const raw_event& event : events) {
      if (const auto wrong = run.step(event)) RC_FAIL(*wrong);
    }
    if (const auto wrong = run.drain()) RC_FAIL(*wrong);
  });
  CHECK(holds);
}

TEST_CASE("long runs from fixed seeds agree with the reference model") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int seeds = 60;
#else
  constexpr int seeds = 670;
#endif
  constexpr int events = 1500;
  exercised all;
  std::uint64_t played = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 draw(seed);
    double_run run(seed, seed % 2 == 0 ? flavour::any : flavour::lending,
                   2 + (seed % 5 == 0 ? seed / 5 % 15 : seed % 3));
    const auto number = [&draw] { return static_cast<std::uint32_t>(draw() >> 33); };
    for (int i = 0; i < events; ++i) {
      const raw_event event{number(), number(), number(), number(), number()};
      if (const auto wrong = run.step(event)) FAIL("seed " << seed << ", event " << i << ": " << *wrong);
    }
    if (const auto wrong = run.drain()) FAIL("seed " << seed << ", drain: " << *wrong);
    all += run.both().seen();
    played += run.both().events();
  }

  // The runs are worth nothing unless they come through every part of the machine.
  const auto often = [](const auto& counts, auto which) { return exercised::of(counts, which) >= seeds / 10; };
  MESSAGE(played << " events: " << exercised::of(all.effects, effect::kind::granted) << " granted, "
                 << exercised::of(all.effects, effect::kind::rejected) << " rejected, "
                 << exercised::of(all.effects, effect::kind::preempt) << " preempted, "
                 << exercised::of(all.effects, effect::kind::budget_threshold) << " thresholds of budgets, "
                 << exercised::of(all.effects, effect::kind::stop) << " stopped with their run; " << all.foretold
                 << " foretold, " << all.passed << " of them otherwise than it came");
  CHECK(played >= seeds * events);
  for (std::size_t kind = 0; kind < all.events.size(); ++kind) {
    INFO("event " << kind);
    CHECK(all.events[kind] > 0);
  }
  for (std::size_t kind = 0; kind < all.effects.size(); ++kind) {
    INFO("effect " << kind);
    CHECK(often(all.effects, kind));
  }
  for (std::size_t why = 1; why < all.reasons.size(); ++why) {
    INFO("reason " << to_string(static_cast<reason>(why)));
    // Whoever cancels knows it already: the machine tells nobody.
    CHECK(often(all.reasons, why) == (static_cast<reason>(why) != reason::cancelled));
  }
  for (std::size_t bound = 0; bound < all.bounds.size(); ++bound) {
    INFO("bound " << to_string(static_cast<constraint>(bound)));
    // No request asks for tool calls: they bind charges alone.
    CHECK(often(all.bounds, bound) == (static_cast<constraint>(bound) != constraint::budget_tool_calls));
  }
  CHECK(all.observed >= seeds / 10);
  CHECK(all.foretold >= 20 * seeds);
  CHECK(all.passed * 2000 < all.foretold);
}
