#include <sluice/agent/task_group.hpp>

#include "agent/groups/group_fixture.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

TEST_CASE("start_latest: the former is cancelled at once, and the new one does not wait for it") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root, {.width = 1});
  tasks.start_latest("route", all.deaf("first", 5s));
  all.run();
  tasks.start_latest("route", all.good("second", 1s));
  all.run();
  CHECK(all.begun == std::vector<std::string>{"first", "second"});
  CHECK(tasks.pending("route"));
  CHECK_FALSE(tasks.pending("speech"));
  CHECK_FALSE(tasks.poll("route"));
  started<group_result<std::string>> end;
  SUBCASE("polled") {
    all.advance(1s);
    CHECK_FALSE(tasks.pending("route"));
    const auto got = tasks.poll("route");
    REQUIRE(got);
    CHECK(*got == "second");
    CHECK_FALSE(tasks.poll("route"));
    all.advance(4s);
    CHECK_FALSE(tasks.poll("route"));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->outcomes.empty());
  }
  SUBCASE("waited for") {
    all.start(end, tasks.wait());
    all.advance(1s);
    CHECK_FALSE(end.ended);
    all.advance(4s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "second");
  }
  CHECK(end.value->verdict);
  CHECK(end.value->counts == group_counts{.succeeded = 1, .cancelled = 1, .replaced = 1});
}

TEST_CASE("poll gives failures, and cancellations, too") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root);
  tasks.start_latest("k", all.bad("no", 1s));
  all.run();
  all.advance(1s);
  const auto failed = tasks.poll("k");
  REQUIRE(failed);
  CHECK(failed->error() == error(errc::provider_failed, "no"));
  tasks.start_latest("k", all.good("never", 1s));
  all.run();
  tasks.cancel();
  all.run();
  const auto cancelled = tasks.poll("k");
  REQUIRE(cancelled);
  CHECK(cancelled->error().is(errc::cancelled));
}

TEST_CASE("five minutes of frames: stale requests are replaced, answers are taken, and nothing grows") {
  group_fixture all;
  run_scope root = all.open();
  int answers = 0;
  {
    group tasks(root, {.width = 2});
    for (int frame = 0; frame < 5 * 60 * 60; ++frame) {
      if (frame % 20 == 0) tasks.start_latest("route", all.good("r", frame % 100 == 0 ? 1s : 100ms));
      if (frame % 30 == 0) tasks.start_latest("speech", all.good("s", 200ms));
      all.advance(16ms);
      for (const char* key : {"route", "speech"}) {
        if (const auto got = tasks.poll(key)) {
          CHECK(got->has_value());
          ++answers;
        }
      }
      REQUIRE(all.alive <= 2);
      all.begun.clear();
    }
  }
  all.run();
  CHECK(all.alive == 0);
  // Four of five routes come before they are replaced, and every speech.
  CHECK(answers == 720 + 600);
}
