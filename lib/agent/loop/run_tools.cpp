#include <sluice/agent/run_tools.hpp>

#include "agent/loop/tool_loop.hpp"

#include <sluice/agent/detail/task_set.hpp>

#include <asio/this_coro.hpp>

#include <memory>
#include <utility>

namespace sluice::agent {

namespace {

/// A caller that is dropped while it waits takes what its loop refers to with it.
class cancelled_at_exit {
 public:
  explicit cancelled_at_exit(detail::task_set& tasks) noexcept : tasks_(tasks) {}
  cancelled_at_exit(const cancelled_at_exit&) = delete;
  cancelled_at_exit& operator=(const cancelled_at_exit&) = delete;
  ~cancelled_at_exit() { tasks_.cancel_all(); }

 private:
  detail::task_set& tasks_;
};

}  // namespace

asio::awaitable<run_result> run_tools(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools,
                                      loop_options how) {
  run_result result;
  detail::tool_loop loop(run, model, talk, tools, how, result);
  // As a task of the run, since the run may be cancelled from anywhere.
  const std::shared_ptr<detail::task_set> tasks = detail::task_set::make(run);
  const cancelled_at_exit guard(*tasks);
  if (!tasks->start(loop.go())) {
    loop.not_begun();
    co_return result;
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (tasks->running() > 0) {
    const auto why = co_await tasks->changed(never);
    if (why == detail::task_set::change::cancelled) tasks->cancel_all();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return result;
}

}  // namespace sluice::agent
