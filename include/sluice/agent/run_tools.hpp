/// \file
/// `run_tools`: the loop of an agent: the model, its tools, the model again, until there is an answer or a limit.
#pragma once

#include <sluice/agent/loop_options.hpp>
#include <sluice/agent/run_result.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/agent/toolbox.hpp>
#include <sluice/llm/any_client.hpp>
#include <sluice/llm/conversation.hpp>

#include <asio/awaitable.hpp>

namespace sluice::agent {

/// Asks the model for what `talk` holds, carries out the tools that it calls, tells it their results, and asks again:
/// until it answers, or a limit is reached (turns, the run's budget or its deadline), or it fails, or the run is
/// cancelled.
///
/// Everything is paid by `run`. No permit is held while tools run. Each request leaves room for its answer within what
/// the run can still pay. `talk` gets the model's answers as they come, what came of one that broke off too, and the
/// tools' results, exactly one for each call whatever happened, so that it can be sent again. Lines that are for the
/// model alone, such as what is left, are not kept in it.
///
/// ```cpp
/// agent::loop_options how("gpt-4o-mini");
/// how.tell_what_is_left = true;
/// const auto result = co_await agent::run_tools(run, client, talk, tools, how);
/// std::cout << result.text << (result.explanation.empty() ? "" : "\n-- " + result.explanation) << '\n';
/// ```
///
/// It runs in the caller's coroutine; the handlers of tools on a strand over the run's executor. It is a task of the
/// run: `run_scope::leave` waits for it.
/// Completes when there is a result; it never throws but for a cancellation, after which the caller's next `co_await`
/// throws.
/// Cancellation: of the run, from anywhere, and terminal of the caller: the exchange is closed, tools are cancelled,
/// and the result says `run_stop::cancelled`, with what there is.
/// Thread safety: one loop per conversation at a time; several loops may share run, client and toolbox.
/// Lifetime: all that is referred to must live until it completes or its coroutine is destroyed, but for the scope of
/// the run, without which it ends as cancelled. A caller that is destroyed while it waits, with its context, leaves the
/// tools that it has called ending by themselves: no listener is called any more, hooks that have not begun refuse, and
/// `talk` is as far as it had come. Only the gate, and what the coroutine of a tool or a hook that is under way refers
/// to, are used until the run's tasks have ended (`run_scope::leave`).
[[nodiscard]] asio::awaitable<run_result> run_tools(run_scope& run, llm::any_client model, llm::conversation& talk,
                                                    toolbox& tools, loop_options how);

}  // namespace sluice::agent
