/// \file
/// `loop_words`: what bound a tool loop, as one line with the numbers and the knob; and what its model is told.
#pragma once

#include "agent/loop/turn_means.hpp"

#include <sluice/agent/run_result.hpp>
#include <sluice/agent/run_scope.hpp>
#include <sluice/core/run.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstdint>
#include <string>

namespace sluice::agent::detail {

// For people.

[[nodiscard]] std::string turns_are_over(int most);
[[nodiscard]] std::string time_is_over(const run_scope& run);
/// Of a run that cannot pay for a request of this size any more; or that could not pay for one after it, when it is
/// `near`.
[[nodiscard]] std::string budget_is_over(const run_scope& run, const run_balance& account, const spending& there_is,
                                         const turn_size& next, bool near);
[[nodiscard]] std::string tool_calls_are_over(const run_scope& run, const run_balance& account);
/// The greatest of 50, 80, 95 and 100 percent of a limit that has been spent on some axis; zero when none has.
[[nodiscard]] std::uint32_t threshold_spent(const run_balance& account);
[[nodiscard]] std::string threshold_crossed(const run_scope& run, const run_balance& account);
/// Of an answer that is not one, or not whole. `limit`: on its output; `shortened` when the budget set it.
[[nodiscard]] std::string cut_off(const llm::reply& answer, std::int64_t limit, bool shortened);

// For the model.

[[nodiscard]] std::string answer_now(run_stop why);
[[nodiscard]] std::string not_carried_out(run_stop why);
[[nodiscard]] std::string called_before(const llm::tool_call& call, int most);

}  // namespace sluice::agent::detail
