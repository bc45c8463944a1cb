/// \file
/// `history_policy`: what is sent when a conversation outgrows what there is for it.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/llm/conversation.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace sluice::agent {

/// Of a long conversation the program's message and the last turns are sent whole, and never a tool result without its
/// call. The conversation itself keeps everything. Numbers alone.
struct history_policy {
  /// The most tokens of history to send, by estimate. `unlimited`: all of it, as long as the run can pay for it.
  std::int64_t most_tokens = unlimited;
  /// Whether a history that is longer than what the run can still pay is cut, too: at the beginning of a loop to a
  /// quarter of that, for its last answer so that there is room for it. Else such a run is out of budget.
  bool fit_budget = true;
  /// Whether a provider's "context too long" is answered by cutting the history to half and asking again, at most so
  /// often.
  int retries_when_too_long = 2;
};
static_assert(std::is_trivially_destructible_v<history_policy> && std::is_aggregate_v<history_policy>);

/// The part of `talk` that has about `most` tokens: whole turns are left out from the beginning, then whole rounds of
/// the last turn. The program's message, the last question and the last round stay, so it may be longer. O(messages).
[[nodiscard]] llm::conversation fitted(const llm::conversation& talk, std::int64_t most, std::string_view model = {});

}  // namespace sluice::agent
