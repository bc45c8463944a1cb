/// \file
/// `toolbox`: the tools that models may call, and how their calls are carried out.
#pragma once

#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/tool_hooks.hpp>
#include <sluice/agent/tool_limits.hpp>
#include <sluice/agent/tool_result.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/tool_arguments.hpp>
#include <sluice/llm/tool_call.hpp>
#include <sluice/runtime/bulkhead.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::agent {

namespace detail {
class tool_registry;
}

/// What a handler gets beside its arguments. Lives until the handler has ended.
class tool_context {
 public:
  /// The call's own run, below the one whose model made it: for calls to models, child runs and charges. It has the
  /// tool's class and the deadline of its timeout. It has paid for the call. It is closed when the call has its result,
  /// also when the handler runs on.
  run_scope& run;
  /// As the model made it.
  const llm::tool_call& call;
};

/// Carries a call out. Its arguments have passed the tool's schema. Gives what the model is told; an error is told as
/// well, by its message, marked as an error, and so is an exception.
using tool_handler =
    std::function<asio::awaitable<expected<std::string, error>>(tool_context&, const llm::tool_arguments&)>;
/// The same for plain code that blocks. It is not interrupted: when its time is over its result is dropped.
using blocking_handler = std::function<expected<std::string, error>(const llm::tool_arguments&)>;

/// A registry of tools, and the one way in which they are called: every call gets exactly one result, whatever happens.
///
/// Thread safety: `add` before the first call; the rest from any thread. Lifetime: must outlive the calls, its gate it.
class toolbox {
 public:
  /// `gate`: whose executor and clock the waits for a tool's concurrency use.
  explicit toolbox(bulkhead& gate);
  toolbox(const toolbox&) = delete;
  toolbox& operator=(const toolbox&) = delete;
  ~toolbox();

  /// Adds a tool; `offered` holds its name, its description and the JSON schema of its arguments: draft 7, or 2020-12
  /// as far as it can be told in its terms. Patterns are those of RE2, which may look ahead only behind the `^` that
  /// they begin with. `format` is a remark.
  /// Throws `error_exception` of `errc::invalid_configuration`, naming the tool and the field: an empty or taken name,
  /// one that is longer than 64 or has anything but letters of ASCII, digits, `_` and `-` (what providers take), a
  /// schema that is not one or has, at some place, a keyword or pattern that cannot be checked, limits that do not
  /// hold.
  toolbox& add(llm::tool offered, tool_handler handler, tool_limits limits = {});
  /// A handler that needs its arguments alone: its calls need no runs of their own, and the model's run pays for them.
  toolbox& add(llm::tool offered,
               std::function<asio::awaitable<expected<std::string, error>>(const llm::tool_arguments&)> handler,
               tool_limits limits = {});
  /// A handler that blocks: it runs on `pool`, an `asio::thread_pool` of the caller's for instance. A pool that is
  /// stopped before it has run a call makes that fail.
  toolbox& add_blocking(llm::tool offered, asio::any_io_executor pool, blocking_handler handler,
                        tool_limits limits = {});

  /// What to offer the model, in the order in which they were added.
  [[nodiscard]] const std::vector<llm::tool>& tools() const noexcept;
  [[nodiscard]] bool has(std::string_view name) const noexcept;

  /// Carries out the calls of one turn, side by side: as many at once as the run's width (`run_settings::width`, over
  /// its whole tree), the tools' own limits and the run's budget of tool calls let it. A handler that itself waits for
  /// tools, in a run below this one, does not count while they run.
  ///
  /// Handlers of one turn run on one strand over the run's executor: no two of them at the same instant, but for those
  /// that block on a pool. The first may begin before this waits, on the caller's stack. A call is not carried out, and
  /// the model is told why, when its tool is not there or has no place (`tool_limits::concurrency`), its arguments are
  /// not valid or not the schema, a limit is reached, the run cannot pay, a hook refuses it, nobody approves it, or the
  /// run is cancelled or out of time.
  ///
  /// Completes when each call has its result. Gives the results in the order of the calls, always one for each. Never
  /// throws. A handler that has not stopped a second after its cancellation is abandoned: its run is closed, it counts
  /// no more for the width, and what it gives is dropped; what it was given lives until it ends, and it keeps its place
  /// at its tool. Cancellation: terminal: what runs is cancelled and told so in its result; the caller's next
  /// `co_await` throws. Memory: as many tasks as run at once, and one for each call about which a hook is being asked.
  [[nodiscard]] asio::awaitable<std::vector<tool_result>> all(run_scope& run, std::vector<llm::tool_call> calls,
                                                              const tool_hooks& hooks = {});

 private:
  std::shared_ptr<detail::tool_registry> registry_;
};

}  // namespace sluice::agent
