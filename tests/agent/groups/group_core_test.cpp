#include "agent/groups/group_core.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using sluice::agent::group_counts;
using sluice::agent::group_options;
using sluice::agent::group_rule;
using sluice::agent::group_wait;
using sluice::agent::detail::group_core;
using sluice::agent::detail::task_ending;
using steps = group_core::steps;
using verdict = group_core::verdict;
using numbers = std::vector<std::size_t>;

namespace {

group_options with(group_rule rule, std::size_t width = 8, std::size_t quorum = 1) {
  return {.rule = rule, .quorum = quorum, .width = width};
}

/// Its work has ended and it has left.
steps end(group_core& of, std::size_t number, task_ending how) {
  steps first = of.finished(number, how);
  steps then = of.gone(number);
  first.cancel.insert(first.cancel.end(), then.cancel.begin(), then.cancel.end());
  first.drop.insert(first.drop.end(), then.drop.begin(), then.drop.end());
  first.begin.insert(first.begin.end(), then.begin.begin(), then.begin.end());
  return first;
}

constexpr auto good = task_ending::succeeded;
constexpr auto bad = task_ending::failed;

}  // namespace

TEST_CASE("tasks begin in order, as many at once as the width lets") {
  group_core core(with(group_rule::collect, 2));
  CHECK(core.add().begin == numbers{0});
  CHECK(core.add().begin == numbers{1});
  CHECK(core.add().begin.empty());
  CHECK(core.add().begin.empty());
  CHECK(core.queued() == 2);
  CHECK(core.finished(1, good).begin.empty());
  // One that still stops what it has started keeps its place.
  CHECK(core.gone(1).begin == numbers{2});
  CHECK(end(core, 0, bad).begin == numbers{3});
}

TEST_CASE("a width of zero counts as one") {
  group_core core(with(group_rule::collect, 0));
  CHECK(core.add().begin == numbers{0});
  CHECK(core.add().begin.empty());
}

TEST_CASE("collect is done when it is waited for and all have ended") {
  group_core core(with(group_rule::collect));
  static_cast<void>(core.add());
  static_cast<void>(core.add());
  static_cast<void>(end(core, 0, bad));
  CHECK(core.decided() == verdict::open);
  static_cast<void>(core.wait());
  CHECK(core.decided() == verdict::open);
  CHECK(core.needed() == 1);
  SUBCASE("they end") {
    static_cast<void>(core.finished(1, good));
    CHECK(core.decided() == verdict::met);
    CHECK_FALSE(core.settled());
    static_cast<void>(core.gone(1));
    CHECK(core.settled());
    CHECK(core.counts() == group_counts{.succeeded = 1, .failed = 1});
    CHECK(core.outcomes() == numbers{0, 1});
  }
  SUBCASE("another one comes meanwhile") {
    static_cast<void>(core.add());
    static_cast<void>(end(core, 1, good));
    CHECK(core.decided() == verdict::open);
    static_cast<void>(end(core, 2, good));
    CHECK(core.settled());
  }
}

TEST_CASE("no tasks at all") {
  for (const group_rule rule : {group_rule::collect, group_rule::fail_fast}) {
    group_core core(with(rule));
    CHECK_FALSE(core.settled());
    static_cast<void>(core.wait());
    CHECK(core.decided() == verdict::met);
    CHECK(core.settled());
  }
  group_core some(with(group_rule::quorum, 8, 1));
  static_cast<void>(some.wait());
  CHECK(some.decided() == verdict::out_of_reach);
  group_core none(with(group_rule::quorum, 8, 0));
  static_cast<void>(none.wait());
  CHECK(none.decided() == verdict::met);
}

TEST_CASE("fail_fast: the first failure cancels those that run, and those that wait never begin") {
  group_core core(with(group_rule::fail_fast, 2));
  for (int each = 0; each < 4; ++each) static_cast<void>(core.add());
  const steps then = core.finished(1, bad);
  CHECK(core.decided() == verdict::failed);
  CHECK(then.cancel == numbers{0});
  CHECK(then.begin.empty());
  CHECK(core.gone(1).begin.empty());
  CHECK_FALSE(core.settled());
  SUBCASE("what a cancelled one fails with is no failure") {
    static_cast<void>(end(core, 0, bad));
    CHECK(core.counts() == group_counts{.failed = 1, .cancelled = 3});
    CHECK(core.ending(0) == task_ending::cancelled);
  }
  SUBCASE("what a cancelled one gives all the same is kept") {
    static_cast<void>(end(core, 0, good));
    CHECK(core.counts() == group_counts{.succeeded = 1, .failed = 1, .cancelled = 2});
    CHECK(core.ending(0) == good);
  }
  CHECK(core.settled());
  CHECK(core.outcomes() == numbers{0, 1, 2, 3});
}

TEST_CASE("a quorum is met, or out of reach") {
  group_core core(with(group_rule::quorum, 8, 2));
  for (int each = 0; each < 4; ++each) static_cast<void>(core.add());
  static_cast<void>(core.wait());
  CHECK(core.needed() == 2);
  static_cast<void>(end(core, 3, good));
  static_cast<void>(end(core, 0, bad));
  CHECK(core.needed() == 1);
  CHECK(core.decided() == verdict::open);
  SUBCASE("met") {
    CHECK(core.finished(1, good).cancel == numbers{2});
    CHECK(core.decided() == verdict::met);
    CHECK(core.needed() == 0);
  }
  SUBCASE("out of reach") {
    static_cast<void>(end(core, 1, bad));
    CHECK(core.decided() == verdict::open);
    static_cast<void>(end(core, 2, bad));
    CHECK(core.decided() == verdict::out_of_reach);
  }
  SUBCASE("out of reach, with some that are cancelled then") {
    group_core three(with(group_rule::quorum, 8, 3));
    for (int each = 0; each < 4; ++each) static_cast<void>(three.add());
    static_cast<void>(three.wait());
    static_cast<void>(end(three, 0, bad));
    CHECK(end(three, 1, bad).cancel == numbers{2, 3});
    CHECK(three.decided() == verdict::out_of_reach);
  }
}

TEST_CASE("a quorum above the number of tasks is out of reach once it is waited for, not before") {
  group_core core(with(group_rule::quorum, 8, 3));
  static_cast<void>(core.add());
  static_cast<void>(end(core, 0, bad));
  static_cast<void>(core.add());
  CHECK(core.decided() == verdict::open);
  CHECK(core.wait().cancel == numbers{1});
  CHECK(core.decided() == verdict::out_of_reach);
}

TEST_CASE("only the first reason to end counts") {
  group_core core(with(group_rule::fail_fast));
  static_cast<void>(core.add());
  static_cast<void>(core.add());
  static_cast<void>(core.wait());
  CHECK(core.expire().cancel == numbers{0, 1});
  CHECK(core.cancel().cancel.empty());
  static_cast<void>(end(core, 0, bad));
  CHECK(core.decided() == verdict::late);
}

TEST_CASE("a task that comes after the end never begins") {
  group_core core(with(group_rule::collect));
  static_cast<void>(core.cancel());
  CHECK(core.add().begin.empty());
  CHECK(core.add("key").begin.empty());
  CHECK(core.outcomes() == numbers{0, 1});
  CHECK(core.counts() == group_counts{.cancelled = 2});
  CHECK(core.settled());
}

TEST_CASE("what does not stop is given up") {
  group_core core(with(group_rule::collect));
  for (int each = 0; each < 3; ++each) static_cast<void>(core.add());
  static_cast<void>(core.finished(1, good));
  static_cast<void>(core.cancel());
  static_cast<void>(end(core, 2, bad));
  CHECK_FALSE(core.settled());
  // The second one has ended well, and only has yet to leave.
  CHECK(core.abandon() == numbers{0, 1});
  CHECK(core.settled());
  CHECK(core.counts() == group_counts{.succeeded = 1, .cancelled = 2, .abandoned = 1});
  CHECK(core.outcomes() == numbers{0, 1, 2});
  CHECK(core.given_up(0));
  CHECK_FALSE(core.given_up(1));
  CHECK_FALSE(core.given_up(2));
  CHECK_FALSE(core.given_up(3));
  SUBCASE("what it says later changes nothing") {
    static_cast<void>(end(core, 0, good));
    static_cast<void>(core.gone(1));
    CHECK(core.counts() == group_counts{.succeeded = 1, .cancelled = 2, .abandoned = 1});
    CHECK(core.settled());
  }
}

TEST_CASE("one that waits for its verdict alone is settled when that stands, with tasks that run on") {
  group_options how = with(group_rule::fail_fast);
  how.wait_for = group_wait::verdict;
  group_core core(how);
  for (int each = 0; each < 3; ++each) static_cast<void>(core.add());
  static_cast<void>(core.wait());
  static_cast<void>(core.finished(1, good));
  CHECK_FALSE(core.settled());
  CHECK(core.finished(2, bad).cancel == numbers{0});
  CHECK(core.settled());
  // Those that have ended, and have yet to leave, are not taken for stopping.
  CHECK(core.abandon() == numbers{0, 1, 2});
  CHECK(core.counts() == group_counts{.succeeded = 1, .failed = 1, .cancelled = 1, .stopping = 1});
  CHECK(core.outcomes() == numbers{0, 1, 2});
  CHECK(core.given_up(0));
  CHECK_FALSE(core.given_up(1));
  static_cast<void>(end(core, 0, good));
  CHECK(core.counts() == group_counts{.succeeded = 1, .failed = 1, .cancelled = 1, .stopping = 1});
}

TEST_CASE("the latest of a key takes the place of the one before") {
  group_core core(with(group_rule::collect, 1));
  CHECK(core.add("k").begin == numbers{0});
  CHECK(core.pending("k"));
  SUBCASE("of one that runs: it is cancelled, and the new one does not wait for it") {
    const steps then = core.add("k");
    CHECK(then.cancel == numbers{0});
    CHECK(then.begin == numbers{1});
    SUBCASE("what the former gives is dropped") {
      CHECK(end(core, 0, good).drop == numbers{0});
      CHECK_FALSE(core.take("k"));
      static_cast<void>(end(core, 1, good));
      CHECK(core.take("k")->number == 1);
      CHECK(core.counts() == group_counts{.succeeded = 1, .cancelled = 1, .replaced = 1});
    }
    SUBCASE("while it does not stop, no more than the width again runs beside") {
      CHECK(core.add("k").cancel == numbers{1});
      CHECK(core.queued() == 1);
      CHECK(end(core, 0, bad).begin == numbers{2});
    }
    SUBCASE("it is waited for, like all that runs") {
      static_cast<void>(core.wait());
      static_cast<void>(end(core, 1, good));
      CHECK(core.decided() == verdict::met);
      CHECK_FALSE(core.settled());
      CHECK(core.abandon() == numbers{0});
      CHECK(core.counts() == group_counts{.succeeded = 1, .cancelled = 1, .replaced = 1, .abandoned = 1});
      CHECK(core.outcomes() == numbers{1});
    }
  }
  SUBCASE("of one that has not begun: its turn goes over") {
    static_cast<void>(core.add("other"));
    static_cast<void>(core.add("third"));
    CHECK(core.add("other").drop == numbers{1});
    CHECK(end(core, 0, good).begin == numbers{3});
    CHECK(end(core, 3, good).begin == numbers{2});
  }
  SUBCASE("of one that has ended: what it gave stays until the new one ends") {
    static_cast<void>(end(core, 0, good));
    CHECK_FALSE(core.pending("k"));
    CHECK(core.add("k").cancel.empty());
    SUBCASE("and is handed out") {
      CHECK(core.take("k")->number == 0);
      CHECK_FALSE(core.take("k"));
      CHECK(core.pending("k"));
    }
    SUBCASE("and is dropped") {
      CHECK(end(core, 1, bad).drop == numbers{0});
      CHECK(core.take("k")->how == bad);
      CHECK(core.counts() == group_counts{.succeeded = 1, .failed = 1});
    }
  }
  SUBCASE("a replaced one is no failure") {
    group_core fast(with(group_rule::fail_fast));
    static_cast<void>(fast.add("k"));
    static_cast<void>(fast.add("k"));
    static_cast<void>(end(fast, 0, bad));
    CHECK(fast.decided() == verdict::open);
  }
}

TEST_CASE("what was handed out while it still stops what it started is forgotten when it has left") {
  group_core core(with(group_rule::collect, 1));
  static_cast<void>(core.add("k"));
  static_cast<void>(core.finished(0, good));
  const auto given = core.take("k");
  REQUIRE(given);
  CHECK(given->leaving);
  CHECK(core.outcomes().empty());
  CHECK(core.gone(0).drop == numbers{0});
  CHECK(core.remembered() == 0);
  CHECK(core.counts() == group_counts{.succeeded = 1});
}

TEST_CASE("a group that is never waited for remembers one task and one answer of each key") {
  group_core core(with(group_rule::collect, 4));
  std::size_t most = 0;
  for (std::size_t frame = 0; frame < 100'000; ++frame) {
    const std::string key = frame % 3 == 0 ? "path" : "speech";
    const steps then = core.add(key);
    for (const std::size_t number : then.cancel) static_cast<void>(end(core, number, bad));
    if (frame % 5 == 0) static_cast<void>(end(core, core.started() - 1, good));
    if (frame % 7 == 0) static_cast<void>(core.take(key));
    most = std::max(most, core.remembered());
  }
  CHECK(most <= 6);
  CHECK(core.counts().cancelled == core.counts().replaced);
}
