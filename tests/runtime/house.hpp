/// \file
/// What the tests of the runtime share: a bulkhead under a clock that stands still, coroutines that ask it, and what
/// came of them.
#pragma once

#include <sluice/runtime/bulkhead.hpp>
#include <sluice/testing/manual_time_source.hpp>

#include <doctest/doctest.h>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::runtime_test {

using namespace std::chrono_literals;
using admission_result = expected<permit, rejection>;

/// A pool without floors, so that its whole capacity is everybody's.
inline policy plain(capacity total) {
  policy made(total);
  for (class_policy& each : made.classes) each.floor = {};
  return made;
}

/// Two slots, one of them interactive's floor, all batch work preemptible and restored after one second.
inline policy lending() {
  policy made = plain({.slots = 2, .tokens = 1'000});
  made[interactive].floor = {.slots = 1, .tokens = 500};
  made[interactive].restore_within = 1s;
  made[batch].preemptible = true;
  return made;
}

/// Nothing is held and nothing waits.
inline bool empty(const bulkhead& gate) {
  const statistics now = gate.statistics();
  bool none =
      now.all.in_flight == 0 && now.all.waiting == 0 && now.all.held == capacity{} && now.all.queued == capacity{};
  for (std::size_t c = 0; c < now.class_count; ++c) {
    const class_statistics& own = now.classes[c];
    none = none && own.in_flight == 0 && own.waiting == 0 && own.held == capacity{} && own.queued == capacity{};
  }
  return none;
}

/// What became of one admission, and where its permit is kept.
struct answer {
  std::optional<admission_result> result;
  int completions = 0;

  [[nodiscard]] bool granted() const { return result && result->has_value(); }
  [[nodiscard]] sluice::reason why() const { return result && !*result ? result->error().reason() : reason::none; }
  void operator()(admission_result got) {
    ++completions;
    result.emplace(std::move(got));
  }
  void release() { result.reset(); }
};

/// The handler of an `async_admit` that is told to `to`.
inline auto tell(answer& to) {
  return [&to](admission_result got) { to(std::move(got)); };
}

inline asio::awaitable<void> ask(bulkhead& gate, answer& into, cost asked, workload as = interactive,
                                 admit_options options = {}) {
  into(co_await gate.admit(asked, as, options));
}

/// A coroutine's end.
struct ending {
  bool ended = false;
  std::exception_ptr thrown;
  auto handler() {
    return [this](std::exception_ptr what) {
      ended = true;
      thrown = what;
    };
  }
  [[nodiscard]] bool threw_aborted() const {
    if (!thrown) return false;
    try {
      std::rethrow_exception(thrown);
    } catch (const std::system_error& failure) {
      return failure.code() == asio::error::operation_aborted;
    } catch (...) {
      return false;
    }
  }
};

/// Sleeps until it is cancelled.
inline asio::awaitable<void> wait_for_ever() {
  asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
}

struct house {
  explicit house(const policy& rules = plain({.slots = 1, .tokens = 1'000}))
      : gate(context.get_executor(), rules, time) {}

  /// Everything that can run now.
  std::size_t poll() {
    context.restart();
    return context.poll();
  }

  void spawn(asio::awaitable<void> program) { asio::co_spawn(context, std::move(program), ended.handler()); }

  testing::manual_time_source time;
  asio::io_context context;
  bulkhead gate;
  ending ended;
};

/// A clock that counts what is asked of it.
class counting_time_source final : public time_source {
 public:
  [[nodiscard]] instant now() const noexcept override { return inner.now(); }
  void arm(entry& who, instant when) override {
    if (when == never) {
      ++disarmings;
    } else {
      armings.push_back(when);
    }
    inner.arm(who, when);
  }
  void disarm(entry& who) noexcept override { inner.disarm(who); }

  testing::manual_time_source inner;
  std::vector<instant> armings;
  int disarmings = 0;
};

}  // namespace sluice::runtime_test
