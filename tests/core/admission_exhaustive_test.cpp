#include "core/small_world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

// Every interleaving of a small world's events. A state that has been reached on one way is not entered again on
// another; what the machine itself remembers beyond the model's state is exercised by the replay of each way from the
// start.

using namespace sluice;
using namespace sluice::core;
using sluice::core::testing::beginning;
using sluice::core::testing::exercised;
using sluice::core::testing::move;
using sluice::core::testing::move_names;
using sluice::core::testing::small_world;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t depth = 3;
#else
constexpr std::size_t depth = 4;
#endif

using way = std::vector<move>;

std::string written(const way& gone) {
  std::string text;
  for (const move& one : gone)
    text += std::string(move_names[static_cast<std::size_t>(one.what)]) + ' ' + std::to_string(one.which) + ", ";
  return text;
}

small_world at_the_end_of(beginning from, const way& gone) {
  small_world reached(from);
  for (const move& one : gone) reached.play(one);
  reached.both.replaying = false;
  return reached;
}

}  // namespace

TEST_CASE("every interleaving in a small world keeps the invariants and answers each request once") {
  std::array<std::uint64_t, move_names.size()> played{};
  exercised seen_in_all;
  std::size_t most_waiting = 0;
  for (const beginning from : {beginning::empty, beginning::lent, beginning::metered}) {
    std::unordered_set<std::string> seen;
    std::vector<way> level{{}};
    std::uint64_t events = 0;
    for (std::size_t length = 0; length < depth; ++length) {
      std::vector<way> next;
      for (const way& gone : level) {
        for (const move& one : at_the_end_of(from, gone).moves()) {
          small_world after = at_the_end_of(from, gone);
          after.play(one);
          ++events;
          ++played[static_cast<std::size_t>(one.what)];
          way longer = gone;
          longer.push_back(one);
          if (after.wrong) FAIL(written(longer) << *after.wrong);
          most_waiting = std::max(most_waiting, after.both.machine().waiting());
          if (!seen.insert(after.signature()).second) continue;
          after.drain();
          if (after.wrong) FAIL(written(longer) << "drain: " << *after.wrong);
          seen_in_all += after.both.seen();
          next.push_back(std::move(longer));
        }
      }
      level = std::move(next);
    }
    constexpr std::array<const char*, 3> names{"from an empty pool", "from a pool lent to batch",
                                               "with a metered provider"};
    MESSAGE(std::string(names[static_cast<std::size_t>(from)])
            << ": " << seen.size() << " states, " << events << " events");
  }
  for (std::size_t i = 0; i < played.size(); ++i) {
    INFO(move_names[i]);
    CHECK(played[i] > 0);
  }
  for (std::size_t kind = 0; kind < seen_in_all.events.size(); ++kind) {
    INFO("event " << kind);
    CHECK(seen_in_all.events[kind] > 0);
  }
  CHECK(exercised::of(seen_in_all.effects, effect::kind::preempt) > 0);
  CHECK(exercised::of(seen_in_all.effects, effect::kind::budget_threshold) > 0);
  CHECK(exercised::of(seen_in_all.effects, effect::kind::stop) > 0);
  CHECK(most_waiting == 3);
}
