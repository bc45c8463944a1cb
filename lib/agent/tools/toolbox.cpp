#include <sluice/agent/toolbox.hpp>

#include "agent/tools/tool_blocking.hpp"
#include "agent/tools/tool_registry.hpp"
#include "agent/tools/tool_turn.hpp"

#include <utility>

namespace sluice::agent {

toolbox::toolbox(bulkhead& gate) : registry_(std::make_shared<detail::tool_registry>(gate)) {}
toolbox::~toolbox() = default;

toolbox& toolbox::add(llm::tool offered, tool_handler handler, tool_limits limits) {
  registry_->add(std::move(offered), std::move(handler), limits);
  return *this;
}

toolbox& toolbox::add(llm::tool offered,
                      std::function<asio::awaitable<expected<std::string, error>>(const llm::tool_arguments&)> handler,
                      tool_limits limits) {
  registry_->add(std::move(offered), detail::plain_handler(std::move(handler)), limits);
  return *this;
}

toolbox& toolbox::add_blocking(llm::tool offered, asio::any_io_executor pool, blocking_handler handler,
                               tool_limits limits) {
  tool_handler waits;
  if (handler && pool) waits = detail::on_pool(std::move(pool), std::move(handler));
  return add(std::move(offered), std::move(waits), limits);
}

const std::vector<llm::tool>& toolbox::tools() const noexcept { return registry_->tools(); }
bool toolbox::has(std::string_view name) const noexcept { return registry_->find(name) != nullptr; }

asio::awaitable<std::vector<tool_result>> toolbox::all(run_scope& run, std::vector<llm::tool_call> calls,
                                                       const tool_hooks& hooks) {
  return detail::tool_turn::carry_out(std::make_shared<detail::tool_turn>(registry_, run, std::move(calls), hooks));
}

}  // namespace sluice::agent
