#include <sluice/agent/run_tools.hpp>

#include "agent/loop/tool_loop.hpp"

#include <sluice/agent/detail/task_set.hpp>

#include <asio/this_coro.hpp>

#include <memory>
#include <utility>

namespace sluice::agent {

namespace {

/// A caller that is dropped while it waits takes with it what its loop was told to use. The loop's task may go on for a
/// while on another context.
class dropped_at_exit {
 public:
  dropped_at_exit(detail::tool_loop& loop, detail::task_set& tasks) noexcept : loop_(loop), tasks_(tasks) {}
  dropped_at_exit(const dropped_at_exit&) = delete;
  dropped_at_exit& operator=(const dropped_at_exit&) = delete;
  ~dropped_at_exit() {
    loop_.drop();
    tasks_.cancel_all();
  }

 private:
  detail::tool_loop& loop_;
  detail::task_set& tasks_;
};

asio::awaitable<run_result> result_of(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools,
                                      std::unique_ptr<loop_options> how) {
  const auto loop = std::make_shared<detail::tool_loop>(run, model, talk, tools, std::move(how));
  // As a task of the run, since the run may be cancelled from anywhere.
  const std::shared_ptr<detail::task_set> tasks = detail::task_set::make(run);
  const dropped_at_exit guard(*loop, *tasks);
  if (!tasks->start(detail::tool_loop::go(loop))) {
    loop->not_begun();
    co_return loop->take_result();
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (tasks->running() > 0) {
    const auto why = co_await tasks->changed(never);
    if (why == detail::task_set::change::cancelled) tasks->cancel_all();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  talk = loop->take_conversation();
  co_return loop->take_result();
}

}  // namespace

asio::awaitable<run_result> run_tools(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools,
                                      loop_options how) {
  // They are large, and the loop's own from here on.
  return result_of(run, model, talk, tools, std::make_unique<loop_options>(std::move(how)));
}

}  // namespace sluice::agent
