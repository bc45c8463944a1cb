#include <sluice/agent/run_tools.hpp>

#include "agent/loop/tool_loop.hpp"

#include <memory>
#include <utility>

namespace sluice::agent {

// The options are large: they go into the loop, and not into one more frame of a coroutine.
asio::awaitable<run_result> run_tools(run_scope& run, llm::any_client model, llm::conversation& talk, toolbox& tools,
                                      loop_options how) {
  return detail::tool_loop::go(std::make_unique<detail::tool_loop>(run, model, talk, tools, std::move(how)));
}

}  // namespace sluice::agent
