#include "agent/groups/group_core.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>

using sluice::agent::group_counts;
using sluice::agent::group_options;
using sluice::agent::group_rule;
using sluice::agent::group_wait;
using sluice::agent::detail::group_core;
using sluice::agent::detail::task_ending;
using steps = group_core::steps;
using verdict = group_core::verdict;

// Whatever comes in whatever order: every number begins once at most, never more than the width run beside as many that
// were replaced, and in the end the counts make up all that were started and everything has stopped.
TEST_CASE("a group at random") {
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&random](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
    const std::size_t width = below(4) + 1;
    const auto rule = static_cast<group_rule>(below(3));
    group_options how{.rule = rule, .quorum = below(5), .width = width};
    how.wait_for = below(2) == 0 ? group_wait::stopped : group_wait::verdict;
    const bool waits = how.wait_for == group_wait::stopped;
    group_core core(how);
    enum class state : std::uint8_t { running, told, leaving };
    std::map<std::size_t, state> alive;
    std::size_t begun = 0;
    bool was_settled = false;
    const auto act = [&](const steps& then) {
      for (const std::size_t number : then.begin) {
        REQUIRE(alive.emplace(number, state::running).second);
        ++begun;
      }
      for (const std::size_t number : then.cancel) {
        REQUIRE(alive.at(number) == state::running);
        alive.at(number) = state::told;
      }
      for (const std::size_t number : then.drop) REQUIRE_FALSE(alive.contains(number));
    };
    const auto pick = [&] { return std::next(alive.begin(), static_cast<std::ptrdiff_t>(below(alive.size()))); };
    const auto leave = [&](std::map<std::size_t, state>::iterator which) {
      const std::size_t number = which->first;
      alive.erase(which);
      act(core.gone(number));
    };
    for (int step = 0; step < 60; ++step) {
      switch (below(12)) {
        case 0:
        case 1:
        case 2: act(core.add()); break;
        case 3:
        case 4: act(core.add(below(2) == 0 ? "a" : "b")); break;
        case 5:
        case 6:
        case 7:
          if (!alive.empty()) {
            const auto which = pick();
            if (which->second == state::leaving) break;
            which->second = state::leaving;
            act(core.finished(which->first, below(3) == 0 ? task_ending::failed : task_ending::succeeded));
          }
          break;
        case 8:
        case 9:
          if (!alive.empty()) leave(pick());
          break;
        case 10: static_cast<void>(core.take("a")); break;
        case 11:
          if (step > 40) act(below(2) == 0 ? core.wait() : core.cancel());
          break;
        default: break;
      }
      REQUIRE(alive.size() <= 2 * width);
      REQUIRE((core.decided() != verdict::open || core.queued() == 0 || alive.size() >= width));
      if (was_settled) REQUIRE(core.settled());
      was_settled = core.settled();
      REQUIRE(core.settled() == (core.decided() != verdict::open && (!waits || alive.empty())));
    }
    act(core.wait());
    while (!alive.empty()) {
      if (core.decided() != verdict::open && below(4) == 0) {
        const auto left = core.abandon();
        REQUIRE(left.size() == alive.size());
        alive.clear();
        break;
      }
      leave(pick());
    }
    REQUIRE(core.settled());
    const group_counts& all = core.counts();
    REQUIRE(all.succeeded + all.failed + all.cancelled == core.started());
    REQUIRE(all.replaced <= all.cancelled);
    REQUIRE((waits ? all.abandoned : all.stopping) <= all.cancelled);
    REQUIRE((waits ? all.stopping : all.abandoned) == 0);
    REQUIRE(begun <= core.started());
    REQUIRE(core.outcomes().size() <= core.started() - all.replaced);
    if (core.decided() == verdict::failed) REQUIRE(all.failed == 1);
  }
}
