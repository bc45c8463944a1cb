/// \file
/// `group_fixture`: tasks for groups that answer, fail, or do not hear of their cancellation, each after so long.
#pragma once

#include "agent/agent_fixture.hpp"

#include <sluice/agent/task_group.hpp>
#include <sluice/runtime/sleep.hpp>

#include <asio/this_coro.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::agent::test {

using gave = expected<std::string, error>;
using group = task_group<std::string>;
using task = group::task;

class group_fixture : public agent_fixture {
 public:
  /// Tasks that run now, the most there were, and all that have begun.
  int alive = 0;
  int most_alive = 0;
  std::vector<std::string> begun;

  [[nodiscard]] asio::awaitable<gave> answer(std::string words, duration after_so_long) {
    const counted here(alive);
    most_alive = std::max(most_alive, alive);
    begun.push_back(words);
    const instant end = after(time.now(), after_so_long);
    co_await sleep_until(time, end);
    if (time.now() < end) co_return unexpected<error>(error(errc::connection_lost, "stopped"));
    co_return words;
  }
  [[nodiscard]] asio::awaitable<gave> refuse(std::string words, duration after_so_long) {
    const counted here(alive);
    begun.push_back(words);
    co_await sleep_until(time, after(time.now(), after_so_long));
    co_return unexpected<error>(error(errc::provider_failed, words));
  }
  /// Does not hear of its cancellation.
  [[nodiscard]] asio::awaitable<gave> stubborn(std::string words, duration for_so_long) {
    const counted here(alive);
    begun.push_back(words);
    const instant end = after(time.now(), for_so_long);
    co_await asio::this_coro::throw_if_cancelled(false);
    while (time.now() < end) co_await sleep_until(time, end);
    co_return words;
  }

  [[nodiscard]] task good(std::string words, duration after_so_long = {}) {
    return [this, words = std::move(words), after_so_long](run_scope&) { return answer(words, after_so_long); };
  }
  [[nodiscard]] task bad(std::string words, duration after_so_long = {}) {
    return [this, words = std::move(words), after_so_long](run_scope&) { return refuse(words, after_so_long); };
  }
  [[nodiscard]] task deaf(std::string words, duration for_so_long) {
    return [this, words = std::move(words), for_so_long](run_scope&) { return stubborn(words, for_so_long); };
  }
};

/// What came of each, in one line: words, `!` and words, or `-` when it was cancelled.
inline std::string line(const group_result<std::string>& of) {
  std::string said;
  for (const gave& each : of.outcomes) {
    if (!said.empty()) said += ' ';
    said += each ? *each : each.error().is(errc::cancelled) ? "-" : "!" + each.error().message();
  }
  return said;
}

}  // namespace sluice::agent::test
