#include "experiment.hpp"

#include "caller.hpp"
#include "live_line.hpp"
#include "provider.hpp"
#include "task_group.hpp"
#include "work.hpp"

#include <sluice/llm/runtime.hpp>

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <system_error>

namespace contention {
namespace {

using clock = std::chrono::steady_clock;

clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

// One arm while it runs.
class running_arm {
 public:
  running_arm(const arm& which, const load& arrivals, const options& asked, provider& server, sluice::runtime& house,
              arm_result& result)
      : arrivals_(arrivals),
        asked_(asked),
        server_(server),
        house_(house),
        result_(result),
        limit_(which.plain_limit
                   ? std::make_unique<sluice::bulkhead>(house.get_executor(), plain_policy(*which.plain_limit))
                   : nullptr),
        calls_(house.client(), limit_.get(), arrivals.seed),
        tools_(house.gate()) {
    add_tools(tools_);
  }

  asio::awaitable<void> run() {
    const auto executor = co_await asio::this_coro::executor;
    task_group work(executor);
    task_group watchers(executor);
    start_ = clock::now();
    live_line line(executor, result_, calls_, asked_.quiet);
    watchers.start(line.run());
    asio::steady_timer drill(executor);
    if (asked_.kill_after) {
      drill.expires_after(to_duration(*asked_.kill_after));
      drill.async_wait([this](std::error_code cancelled) {
        if (!cancelled) server_.kill();
      });
    }

    work.start(open_chats(work));
    if (result_.with_batch) {
      work.start(open_runs(work));
      for (int i = 0; i < arrivals_.agents; ++i) work.start(agent(i));
    }
    // Whatever a piece of work may throw, the line and the drill end before this does.
    std::exception_ptr thrown;
    try {
      co_await work.join();
    } catch (...) {
      thrown = std::current_exception();
    }
    result_.seconds = std::chrono::duration<double>(clock::now() - start_).count();
    drill.cancel();
    line.stop();
    co_await watchers.join();
    if (thrown) std::rethrow_exception(thrown);
    co_await close();
  }

 private:
  // Chats come when they come, however slow the answers are.
  asio::awaitable<void> open_chats(task_group& work) {
    for (const auto& each : arrivals_.chats) {
      co_await until(each.at);
      work.start(chat(calls_, server_, each, result_.chats));
    }
  }

  asio::awaitable<void> open_runs(task_group& work) {
    for (const auto& each : arrivals_.runs) {
      co_await until(each.at);
      work.start(agent_run(calls_, server_, tools_, each, result_.agents));
    }
  }

  // An agent of the batch: run after run, until the time is over; what it has begun it finishes.
  asio::awaitable<void> agent(int number) {
    for (int n = 0;; ++n) {
      const auto size = arrivals_.next_run(number, n);
      if (n == 0) co_await until(size.at);
      if (clock::now() - start_ >= to_duration(asked_.seconds)) co_return;
      co_await agent_run(calls_, server_, tools_, size, result_.agents);
    }
  }

  asio::awaitable<void> until(double seconds) {
    asio::steady_timer timer(house_.get_executor(), start_ + to_duration(seconds));
    co_await timer.async_wait(asio::use_awaitable);
  }

  // No more work; what is still held comes back, or is on the record.
  asio::awaitable<void> close() {
    using namespace std::chrono_literals;
    auto& gate = house_.gate();
    gate.close();
    co_await gate.drain(5s);
    result_.accounts = gate.statistics();
    if (limit_) {
      limit_->close();
      co_await limit_->drain(5s);
      result_.limit_accounts = limit_->statistics();
    }
  }

  const load& arrivals_;
  const options& asked_;
  provider& server_;
  sluice::runtime& house_;
  arm_result& result_;
  std::unique_ptr<sluice::bulkhead> limit_;
  caller calls_;
  sluice::agent::toolbox tools_;
  clock::time_point start_;
};

bool is_zero(const sluice::statistics& accounts) {
  const auto& all = accounts.all;
  return all.in_flight == 0 && all.waiting == 0 && all.held == sluice::capacity{} && all.queued == sluice::capacity{};
}

}  // namespace

bool arm_result::drained() const { return is_zero(accounts) && is_zero(limit_accounts); }

arm_result run_arm(const arm& which, const load& arrivals, const options& asked) {
  arm_result result;
  result.name = which.name;
  result.with_batch = which.with_batch;
  provider server(asked);
  sluice::runtime house(sluice::runtime_options(which.rules, server.address()));
  running_arm running(which, arrivals, asked, server, house, result);
  house.run(running.run());
  result.truth = server.truth();
  return result;
}

}  // namespace contention
