// Places at a tool on several threads: what the sanitizers are to look at, and that nobody waits for ever.

#include "agent/tools/tool_places.hpp"

#include <sluice/agent/run_scope.hpp>
#include <sluice/core/policy.hpp>
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
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using agent::run_scope;
using agent::run_settings;
using agent::detail::tool_place;
using agent::detail::tool_places;

namespace {

enum class ending { well, abandoned, refused };

struct house {
  asio::thread_pool threads{4};
  bulkhead gate{threads.get_executor(), policy({.slots = 4, .tokens = 100'000})};
  const std::string name = "db";
  tool_places places{name, gate, 3};
  std::atomic<int> held{0};
  std::atomic<int> most{0};

  asio::awaitable<void> turns(int count) {
    const asio::any_io_executor here = co_await asio::this_coro::executor;
    for (int each = 0; each < count; ++each) co_await asio::post(here, asio::use_awaitable);
  }

  /// Takes a place and gives it back; a stubborn one is abandoned meanwhile, and runs on for a while.
  asio::awaitable<ending> call(bool stubborn) {
    run_scope run = run_scope::open(gate, run_settings("call")).value();
    auto admitted = co_await places.admit(run);
    if (!admitted) {
      CHECK(admitted.error().message().find("cannot run now: all its 3 places are held") != std::string::npos);
      co_return ending::refused;
    }
    std::shared_ptr<tool_place> place = *std::move(admitted);
    const int now = ++held;
    for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
    }
    co_await turns(2);
    if (stubborn) {
      place->abandon(gate.now());
      co_await turns(10);
    }
    --held;
    place.reset();
    co_return stubborn ? ending::abandoned : ending::well;
  }
};

}  // namespace

TEST_CASE("places on four threads: never more than there are, nobody hangs, and in the end all are free") {
  for (int round = 0; round < 20; ++round) {
    house all;
    std::vector<std::future<ending>> ends;
    for (int each = 0; each < 120; ++each) {
      ends.push_back(asio::co_spawn(all.threads, all.call(each % 4 != 0), asio::use_future));
    }
    int refused = 0;
    for (auto& each : ends) refused += each.get() == ending::refused ? 1 : 0;
    CHECK(refused < 120);
    CHECK(all.most <= 3);
    CHECK(all.held == 0);
    // As if nothing had been.
    for (int each = 0; each < 3; ++each) {
      CHECK(asio::co_spawn(all.threads, all.call(false), asio::use_future).get() == ending::well);
    }
    all.threads.join();
  }
}
