#include <sluice/agent/run_pool.hpp>

#include "agent/pools/pool_fixture.hpp"

#include <sluice/agent/task_group.hpp>
#include <sluice/runtime/sleep.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

TEST_CASE("a parent that holds the only place, and a child that needs one: found at once, with the chain") {
  pool_fixture all(1);
  run_scope nightly = all.open(run_settings("nightly"));
  started<said> end;
  all.start(end, all.nested(nightly, 1s));
  REQUIRE(end.value);
  REQUIRE_FALSE(*end.value);
  CHECK(end.value->error().is(errc::refused));
  CHECK(end.value->error().message() ==
        "would wait for ever: nightly/child needs a run's place, and the only one is held by nightly, which waits for "
        "it; "
        "let those that wait give theirs back meanwhile (run_permit::suspended_while), or raise the pool's slots");
  CHECK(all.pool.held() == 0);
}

TEST_CASE("two parents hold the two places, and each has a child that wants one") {
  pool_fixture all(2);
  run_scope left = all.open(run_settings("left"));
  run_scope right = all.open(run_settings("right"));
  started<said> one;
  started<said> two;
  // The first child waits: the other parent could still end.
  taken of_right;
  all.start(of_right, all.take(right));
  all.start(one, all.nested(left, 1s));
  CHECK_FALSE(one.ended);
  all.start(two, all.below(right, 1s));
  REQUIRE(two.value);
  CHECK(two.value->error().message().find("right/child needs a run's place, and all 2 are held by ") !=
        std::string::npos);
  CHECK(two.value->error().message().find("left, which waits for left/child") != std::string::npos);
  CHECK_FALSE(one.ended);
  // Its parent gets that, and ends.
  of_right.value.reset();
  all.run();
  all.advance(1s);
  REQUIRE(one.value);
  CHECK(*one.value == "left/child");
}

TEST_CASE("a child that its parent runs beside itself waits for the place that the parent will give back") {
  pool_fixture all(1);
  run_scope parent = all.open(run_settings("parent"));
  started<said> first;
  started<said> second;
  all.start(first, all.work(parent, 2s));
  CHECK(all.log == std::vector<std::string>{"parent"});
  SUBCASE("it says so: no alarm") {
    run_scope child = parent.child(run_settings("child").beside_parent()).value();
    SUBCASE("in its own name") { all.start(second, all.work(child, 1s)); }
    SUBCASE("for what it opens itself, and waits for") { all.start(second, all.below(child, 1s)); }
    CHECK_FALSE(second.ended);
    CHECK(all.pool.waiting() == 1);
    all.advance(2s);
    CHECK(first.ended);
    CHECK(all.pool.held() == 1);
    all.advance(1s);
    REQUIRE(second.value);
    CHECK(second.value->has_value());
    CHECK(all.log.size() == 2);
  }
  SUBCASE("by within, started beside the parent") {
    const auto body = [&all](run_scope& own) { return all.work(own, 1s); };
    all.start(second, within(parent, run_settings("child").beside_parent(), body));
    CHECK_FALSE(second.ended);
    all.advance(2s);
    all.advance(1s);
    REQUIRE(second.value);
    CHECK(*second.value == "parent/child");
  }
  SUBCASE("it does not: its parent is taken to wait for it") {
    run_scope child = parent.child(run_settings("child")).value();
    all.start(second, all.work(child, 1s));
    REQUIRE(second.value);
    CHECK(second.value->error().message().find("held by parent, which waits for it") != std::string::npos);
  }
  SUBCASE("a circle that does not lead through the parent is found all the same") {
    all.advance(2s);
    run_scope child = parent.child(run_settings("child").beside_parent()).value();
    all.start(second, all.nested(child, 1s));
    REQUIRE(second.value);
    CHECK(second.value->error().message().find("parent/child/child needs a run's place, and the only one is held by "
                                               "parent/child, which waits for it") != std::string::npos);
  }
}

TEST_CASE("a holder that is merely slow is no circle") {
  pool_fixture all(1);
  run_scope slow = all.open(run_settings("slow"));
  run_scope parent = all.open(run_settings("parent"));
  started<said> one;
  started<said> two;
  all.start(one, all.work(slow, 60s));
  all.start(two, all.below(parent, 1s));
  all.advance(59s);
  CHECK_FALSE(two.ended);
  all.advance(1s);
  all.advance(1s);
  REQUIRE(two.value);
  CHECK(*two.value == "parent/child");
}

TEST_CASE("a group whose tasks need places while its owner has the only one") {
  pool_fixture all(1);
  run_scope root = all.open();
  taken own;
  all.start(own, all.take(root));
  started<group_result<std::string>> end;
  const auto needy = [&all](run_scope& in) { return all.work(in, 1s); };
  const auto modest = [&all](run_scope& in) -> asio::awaitable<said> {
    co_await sleep_until(all.time, after(all.time.now(), 5s));
    co_return in.path();
  };
  SUBCASE("collect: the circle closes when it is waited for") {
    task_group<std::string> tasks(root);
    tasks.start(needy, run_settings("one"));
    all.run();
    CHECK(all.pool.waiting() == 1);
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(
        end.value->outcomes[0].error().message().find("root/one needs a run's place, and the only one is held by root, "
                                                      "which waits for it") != std::string::npos);
    CHECK(end.value->counts.failed == 1);
  }
  SUBCASE("a quorum that the others can meet: nothing is refused") {
    task_group<std::string> tasks(root, {.rule = group_rule::quorum, .quorum = 1});
    tasks.start(needy, run_settings("one"));
    tasks.start(modest, run_settings("two"));
    all.start(end, tasks.wait());
    CHECK(all.pool.waiting() == 1);
    CHECK_FALSE(end.ended);
    all.advance(5s);
    REQUIRE(end.value);
    CHECK(end.value->verdict);
    CHECK(end.value->outcomes[0].error().is(errc::cancelled));
    CHECK(*end.value->outcomes[1] == "root/two");
  }
  SUBCASE("a quorum that they cannot") {
    task_group<std::string> tasks(root, {.rule = group_rule::quorum, .quorum = 2});
    tasks.start(needy, run_settings("one"));
    tasks.start(modest, run_settings("two"));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict.error().message().find("would wait for ever: root/one") != std::string::npos);
  }
  SUBCASE("more tasks than the width: those that have not begun cannot help") {
    task_group<std::string> tasks(root, {.rule = group_rule::quorum, .quorum = 1, .width = 2});
    tasks.start(needy, run_settings("one"));
    tasks.start(needy, run_settings("two"));
    tasks.start(modest, run_settings("three"));
    all.start(end, tasks.wait());
    // One of the two is refused, which makes room.
    CHECK_FALSE(end.ended);
    CHECK(all.pool.waiting() == 1);
    all.advance(5s);
    REQUIRE(end.value);
    CHECK(end.value->verdict);
    CHECK(*end.value->outcomes[2] == "root/three");
    CHECK(end.value->counts.failed == 1);
  }
  SUBCASE("the place given back while they run") {
    task_group<std::string> tasks(root, {.width = 4});
    for (int each = 0; each < 3; ++each) tasks.start(needy);
    started<expected<group_result<std::string>, error>> away;
    run_permit& place = ***own.value;
    all.start(away, place.suspended_while(tasks.wait()));
    for (int each = 0; each < 3; ++each) {
      CHECK(all.pool.held() == 1);
      all.advance(1s);
    }
    REQUIRE(away.value);
    CHECK((*away.value)->counts.succeeded == 3);
    CHECK(static_cast<bool>(place));
    CHECK(all.pool.held() == 1);
  }
}
