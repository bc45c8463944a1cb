/// \file
/// The two kinds of work that share the provider: somebody's chat, and an agent's run.
#pragma once

#include "caller.hpp"
#include "load.hpp"
#include "provider.hpp"
#include "tally.hpp"

#include <sluice/agent/toolbox.hpp>

#include <asio/awaitable.hpp>

namespace contention {

/// One chat: a streamed answer, of use only within ten seconds. Its size and its times go into `notes`.
[[nodiscard]] asio::awaitable<void> chat(caller& calls, const provider& server, job size, tally& notes);

/// The agents' tool.
void add_tools(sluice::agent::toolbox& tools);

/// One run of an agent: asks the model, runs the tool that it calls, tells it the result, until it gives an answer. All
/// calls of the run inherit one deadline, two minutes from its start: so the gate finishes what was begun before it
/// begins more.
[[nodiscard]] asio::awaitable<void> agent_run(caller& calls, const provider& server, sluice::agent::toolbox& tools,
                                              job size, tally& notes);

}  // namespace contention
