/// \file
/// `pool_fixture`: a pool of runs, and work that takes places in it: its own, its child's, or one after the other.
#pragma once

#include "agent/agent_fixture.hpp"

#include <sluice/agent/run_pool.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/core/policy.hpp>
#include <sluice/runtime/sleep.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::test {

/// So many runs at once, of whatever class.
inline policy places(std::int64_t count) {
  policy rules({.slots = count, .tokens = unlimited});
  for (auto& each : rules.classes) {
    each.floor = {};
    each.elastic.enabled = false;
  }
  return rules;
}

using admitted = expected<run_permit, error>;
using said = expected<std::string, error>;
using taken = started<std::optional<admitted>>;

class pool_fixture : public agent_fixture {
 public:
  explicit pool_fixture(std::int64_t count) : pool(loop.get_executor(), places(count), time) {}

  run_pool pool;
  /// Runs that had a place, in this order.
  std::vector<std::string> log;

  /// The same as `admit`, with something to default-construct.
  asio::awaitable<std::optional<admitted>> take(run_scope& who) {
    std::optional<admitted> got;
    auto answer = co_await pool.admit(who);
    got.emplace(std::move(answer));
    co_return got;
  }

  /// Takes a place, keeps it for so long, and says how it went.
  asio::awaitable<said> work(run_scope& who, duration for_so_long) {
    auto place = co_await pool.admit(who);
    if (!place) co_return unexpected<error>(std::move(place).error());
    log.push_back(who.path());
    co_await sleep_until(time, after(time.now(), for_so_long));
    co_return who.path();
  }
  /// Takes a place, and then a child that needs one too.
  asio::awaitable<said> nested(run_scope& who, duration for_so_long) {
    auto place = co_await pool.admit(who);
    if (!place) co_return unexpected<error>(std::move(place).error());
    co_return co_await below(who, for_so_long);
  }
  asio::awaitable<said> below(run_scope& who, duration for_so_long) {
    auto body = [this, for_so_long](run_scope& own) { return work(own, for_so_long); };
    auto made = within(who, run_settings("child"), body);
    co_return co_await std::move(made);
  }
  /// The same, with its place given back meanwhile.
  asio::awaitable<said> polite(run_scope& who, duration for_so_long) {
    auto place = co_await pool.admit(who);
    if (!place) co_return unexpected<error>(std::move(place).error());
    auto waiting = below(who, for_so_long);
    auto got = co_await place->suspended_while(std::move(waiting));
    if (!got) co_return unexpected<error>(std::move(got).error());
    log.push_back(who.path() + " again");
    co_return *std::move(got);
  }
};

}  // namespace sluice::agent::test
