// Groups, pools of runs and the wait graph on several threads: what the sanitizers are to look at, and that every
// account is zero in the end.

#include "agent/pools/pool_fixture.hpp"

#include <sluice/agent/run_pool.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/task_group.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <doctest/doctest.h>
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <cstddef>
#include <future>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using agent::group_rule;
using agent::run_pool;
using agent::run_scope;
using agent::run_settings;
using agent::task_group;
using agent::test::places;

namespace {

using gave = expected<int, error>;

struct house {
  asio::thread_pool threads{4};
  bulkhead gate{threads.get_executor(), policy({.slots = 4, .tokens = 100'000})};
  run_pool pool{threads.get_executor(), places(3)};
  std::atomic<int> circles{0};

  asio::awaitable<void> turn() {
    const asio::any_io_executor here = co_await asio::this_coro::executor;
    co_await asio::post(here, asio::use_awaitable);
  }

  /// A tree of runs in which each holds a place and needs more below: half of them are polite.
  asio::awaitable<gave> tree(run_scope& own, int depth, bool polite) {
    auto place = co_await pool.admit(own);
    if (!place) {
      if (place.error().message().find("for ever") != std::string::npos) ++circles;
      co_return unexpected<error>(std::move(place).error());
    }
    co_await turn();
    if (depth == 0) co_return 1;
    task_group<int> below(own, {.rule = depth % 2 == 0 ? group_rule::quorum : group_rule::fail_fast, .width = 2});
    for (int each = 0; each < 3; ++each) {
      below.start([this, depth, polite](run_scope& in) { return tree(in, depth - 1, !polite); });
    }
    if (!polite) {
      auto got = co_await below.wait();
      co_return static_cast<int>(got.counts.succeeded);
    }
    auto got = co_await place->suspended_while(below.wait());
    if (!got) co_return unexpected<error>(std::move(got).error());
    co_return static_cast<int>(got->counts.succeeded);
  }
};

}  // namespace

TEST_CASE("trees of runs on four threads: nothing hangs, and every place comes back") {
  house all;
  std::vector<std::future<gave>> ends;
  for (int each = 0; each < 40; ++each) {
    auto body = [&all, each](run_scope& own) { return all.tree(own, 3, each % 2 == 0); };
    auto whole = agent::within(all.gate, run_settings("root"), body);
    ends.push_back(asio::co_spawn(all.threads, std::move(whole), asio::use_future));
  }
  int succeeded = 0;
  for (auto& each : ends) succeeded += each.get() ? 1 : 0;
  all.threads.join();
  CHECK(all.pool.held() == 0);
  CHECK(all.pool.waiting() == 0);
  CHECK(succeeded > 0);
  CHECK(all.circles > 0);
}

TEST_CASE("a group that is started, polled and cancelled from several threads at once") {
  house all;
  for (int round = 0; round < 30; ++round) {
    run_scope root = run_scope::open(all.gate, run_settings("root")).value();
    task_group<int> tasks(root, {.width = 2});
    std::atomic<int> began{0};
    const auto work = [&](run_scope&) -> asio::awaitable<gave> {
      ++began;
      co_await all.turn();
      co_return 1;
    };
    std::vector<std::future<void>> busy;
    for (int thread = 0; thread < 3; ++thread) {
      busy.push_back(std::async(std::launch::async, [&, thread] {
        for (int each = 0; each < 50; ++each) {
          if (thread == 0) tasks.start(work);
          tasks.start_latest(each % 2 == 0 ? "a" : "b", work);
          static_cast<void>(tasks.poll("a"));
          static_cast<void>(tasks.pending("b"));
        }
        if (thread == 1 && round % 3 == 0) tasks.cancel();
        if (thread == 2 && round % 3 == 1) root.cancel();
      }));
    }
    for (auto& each : busy) each.get();
    auto end = asio::co_spawn(all.threads, tasks.wait(), asio::use_future).get();
    CHECK(end.counts.succeeded + end.counts.failed + end.counts.cancelled == 200);
    CHECK(end.counts.succeeded <= static_cast<std::size_t>(began.load()));
    CHECK(end.counts.failed == 0);
    CHECK(end.counts.abandoned == 0);
    asio::co_spawn(all.threads, root.leave(), asio::use_future).get();
  }
  all.threads.join();
}

TEST_CASE("groups that do not wait for their tasks to stop: their runs do, and nothing outlives them") {
  house all;
  std::atomic<int> alive{0};
  const auto deaf = [&](run_scope&) -> asio::awaitable<gave> {
    ++alive;
    co_await asio::this_coro::throw_if_cancelled(false);
    for (int each = 0; each < 20; ++each) co_await all.turn();
    --alive;
    co_return 1;
  };
  const auto fails = [&](run_scope&) -> asio::awaitable<gave> {
    co_await all.turn();
    co_return unexpected<error>(error(errc::refused, "no"));
  };
  std::vector<std::future<expected<std::size_t, error>>> ends;
  for (int each = 0; each < 60; ++each) {
    const group_rule rule = each % 2 == 0 ? group_rule::fail_fast : group_rule::quorum;
    auto body = [&deaf, &fails, rule](run_scope& own) -> asio::awaitable<expected<std::size_t, error>> {
      task_group<int> tasks(own, {.rule = rule, .wait_for = agent::group_wait::verdict});
      for (int task = 0; task < 6; ++task) tasks.start(deaf);
      tasks.start(fails);
      auto got = co_await tasks.wait();
      const auto& counts = got.counts;
      if (counts.abandoned != 0 || counts.succeeded + counts.failed + counts.cancelled != 7)
        co_return unexpected<error>(error(errc::invalid_argument, "the counts do not add up"));
      co_return counts.stopping;
    };
    auto whole = agent::within(all.gate, run_settings("root"), body);
    ends.push_back(asio::co_spawn(all.threads, std::move(whole), asio::use_future));
  }
  std::size_t stopping = 0;
  for (auto& each : ends) {
    const auto got = each.get();
    REQUIRE(got);
    stopping += *got;
  }
  CHECK(alive == 0);
  CHECK(stopping > 0);
  all.threads.join();
}
