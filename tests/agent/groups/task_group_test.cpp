#include <sluice/agent/task_group.hpp>

#include "agent/groups/group_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::agent;
using namespace sluice::agent::test;

TEST_CASE("collect: every outcome, in the order of their start, and no more than the width at once") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root, {.width = 2});
  tasks.start(all.good("a", 3s));
  tasks.start(all.bad("b", 1s));
  tasks.start(all.good("c", 1s));
  tasks.start(all.good("d", 9s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  CHECK(all.begun == std::vector<std::string>{"a", "b"});
  all.advance(1s);
  CHECK(all.begun == std::vector<std::string>{"a", "b", "c"});
  all.advance(1s);
  CHECK(all.begun == std::vector<std::string>{"a", "b", "c", "d"});
  all.advance(9s - 1ns);
  CHECK_FALSE(end.ended);
  all.advance(1ns);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "a !b c d");
  CHECK(end.value->verdict);
  CHECK(end.value->counts == group_counts{.succeeded = 3, .failed = 1});
  CHECK(all.most_alive == 2);
  CHECK(all.alive == 0);
}

TEST_CASE("fail_fast: the first failure is the group's, and the others are cancelled") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root, {.rule = group_rule::fail_fast, .width = 3});
  tasks.start(all.good("a", 1s));
  tasks.start(all.good("b", 9s));
  tasks.start(all.bad("c", 2s));
  tasks.start(all.good("d", 9s));
  tasks.start(all.good("e"));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  all.advance(1s);
  all.advance(1s);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "a - !c - -");
  CHECK(end.value->verdict.error() == error(errc::provider_failed, "c"));
  CHECK(end.value->outcomes[1].error().message() ==
        "run root/task: cancelled, since another task of its group had failed");
  CHECK(end.value->counts == group_counts{.succeeded = 1, .failed = 1, .cancelled = 3});
  // The last one never began.
  CHECK(all.begun == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(all.alive == 0);
}

TEST_CASE("quorum: enough successes cancel the others") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root, {.rule = group_rule::quorum, .quorum = 2});
  tasks.start(all.good("a", 9s));
  tasks.start(all.good("b", 1s));
  tasks.start(all.bad("c", 1s));
  tasks.start(all.good("d", 2s));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  all.advance(2s);
  REQUIRE(end.value);
  CHECK(line(*end.value) == "- b !c d");
  CHECK(end.value->verdict);
}

TEST_CASE("quorum: out of reach") {
  group_fixture all;
  run_scope root = all.open();
  started<group_result<std::string>> end;
  SUBCASE("too many have failed") {
    group tasks(root, {.rule = group_rule::quorum, .quorum = 2});
    tasks.start(all.good("a", 9s));
    tasks.start(all.bad("b", 1s));
    tasks.start(all.bad("c", 2s));
    all.start(end, tasks.wait());
    all.advance(2s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "- !b !c");
    CHECK(end.value->verdict.error() ==
          error(errc::provider_failed, "run root: 0 of 3 tasks succeeded, 2 were needed; the first failure: b"));
  }
  SUBCASE("there are too few") {
    group tasks(root, {.rule = group_rule::quorum, .quorum = 3});
    tasks.start(all.good("a", 9s));
    tasks.start(all.good("b", 9s));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict.error() ==
          error(errc::invalid_argument,
                "run root: 0 of 2 tasks succeeded, 3 were needed; start more tasks, or lower quorum"));
    CHECK(end.value->counts == group_counts{.cancelled = 2});
  }
  SUBCASE("there are too few, and they have failed") {
    group tasks(root, {.rule = group_rule::quorum, .quorum = 3});
    tasks.start(all.bad("boom", 1s));
    tasks.start(all.bad("late", 2s));
    all.advance(0s);
    all.advance(1s);
    all.advance(1s);
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict.error() == error(errc::provider_failed,
                                              "run root: 0 of 2 tasks succeeded, 3 were needed; the first failure: "
                                              "boom; start more tasks, or lower quorum"));
  }
}

TEST_CASE("an empty group, a width of zero, a wait for the second time, a start when it is over") {
  group_fixture all;
  run_scope root = all.open();
  started<group_result<std::string>> end;
  group tasks(root, {.width = 0});
  SUBCASE("empty") {
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->verdict);
    CHECK(end.value->outcomes.empty());
  }
  SUBCASE("not empty") {
    tasks.start(all.good("a", 1s));
    tasks.start(all.good("b", 1s));
    all.start(end, tasks.wait());
    CHECK(all.begun.size() == 1);
    all.advance(1s);
    all.advance(1s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "a b");
  }
  tasks.start(all.good("late"));
  tasks.start_latest("k", all.good("late"));
  started<group_result<std::string>> again;
  all.start(again, tasks.wait());
  REQUIRE(again.value);
  CHECK(again.value->verdict.error() == error(errc::invalid_argument, "the group was waited for already"));
  CHECK(again.value->outcomes.empty());
  CHECK_FALSE(tasks.poll("k"));
  CHECK(std::count(all.begun.begin(), all.begun.end(), "late") == 0);
}

TEST_CASE("an exception of a task is a failure with its words") {
  group_fixture all;
  run_scope root = all.open();
  group tasks(root);
  tasks.start([](run_scope&) -> asio::awaitable<gave> { throw std::runtime_error("before it began"); });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw std::runtime_error("while it ran");
    co_return "";
  });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw error_exception(error(errc::rate_limited, "slower"));
    co_return "";
  });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw std::system_error(std::make_error_code(std::errc::io_error), "disk");
    co_return "";
  });
  tasks.start([](run_scope&) -> asio::awaitable<gave> {
    throw 7;
    co_return "";
  });
  tasks.start(nullptr);
  tasks.start(all.good("fine"));
  started<group_result<std::string>> end;
  all.start(end, tasks.wait());
  REQUIRE(end.value);
  const auto& got = end.value->outcomes;
  REQUIRE(got.size() == 7);
  CHECK(got[0].error() == error(errc::invalid_argument, "the task threw: before it began"));
  CHECK(got[1].error() == error(errc::invalid_argument, "the task threw: while it ran"));
  CHECK(got[2].error() == error(errc::rate_limited, "slower"));
  CHECK(got[3].error().code() == std::errc::io_error);
  CHECK(got[4].error() == error(errc::invalid_argument, "the task threw something that is no std::exception"));
  CHECK(got[5].error().is(errc::invalid_argument));
  CHECK(got[6] == "fine");
  CHECK(end.value->counts == group_counts{.succeeded = 1, .failed = 6});
}

TEST_CASE("a task's own run: its limits, its account, and what it starts") {
  group_fixture all;
  run_scope root = all.open();
  started<group_result<std::string>> end;
  group tasks(root, {.width = 1});
  SUBCASE("named and limited") {
    run_settings how("page 7");
    how.limit({.tool_calls = 1});
    tasks.start(
        [](run_scope& own) -> asio::awaitable<gave> {
          const bool one = own.charge({.tool_calls = 1}).has_value();
          const bool two = own.charge({.tool_calls = 1}).has_value();
          co_return own.path() + (one ? " one" : "") + (two ? " two" : "");
        },
        how);
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(line(*end.value) == "root/page 7 one");
    CHECK(root.balance().spent.tool_calls == 1);
  }
  SUBCASE("what it leaves behind is cancelled before the next one begins") {
    tasks.start([&](run_scope& own) -> asio::awaitable<gave> {
      group stray(own);
      stray.start(all.deaf("stray", 2s));
      co_return "left";
    });
    tasks.start(all.good("next"));
    all.start(end, tasks.wait());
    CHECK(all.alive == 1);
    CHECK(all.begun == std::vector<std::string>{"stray"});
    all.advance(2s);
    REQUIRE(end.value);
    CHECK(line(*end.value) == "left next");
  }
  SUBCASE("that cannot be opened") {
    run_settings how("none");
    how.width = -1;
    for (int each = 0; each < 20'000; ++each) tasks.start(all.good("never"), how);
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(end.value->counts == group_counts{.failed = 20'000});
    CHECK(end.value->outcomes.back().error().message().find("width is -1") != std::string::npos);
    CHECK(all.begun.empty());
  }
  SUBCASE("in a run that was cancelled before") {
    root.cancel();
    tasks.start(all.good("never"));
    all.start(end, tasks.wait());
    REQUIRE(end.value);
    CHECK(line(*end.value) == "-");
    CHECK(end.value->verdict.error().is(errc::cancelled));
    CHECK(all.begun.empty());
  }
}

TEST_CASE("gather, and tasks that give nothing") {
  group_fixture all;
  run_scope root = all.open();
  int ran = 0;
  std::vector<task_group<void>::task> list;
  for (int each = 0; each < 20; ++each) {
    list.push_back([&ran, each](run_scope&) -> asio::awaitable<expected<void, error>> {
      ++ran;
      if (each == 7) co_return unexpected<error>(error(errc::refused, "seven"));
      co_return expected<void, error>();
    });
  }
  started<group_result<void>> end;
  all.start(end, agent::gather<void>(root, std::move(list)));
  REQUIRE(end.value);
  CHECK(ran == 20);
  CHECK(end.value->counts == group_counts{.succeeded = 19, .failed = 1});
  CHECK(end.value->outcomes[7].error() == error(errc::refused, "seven"));
}
