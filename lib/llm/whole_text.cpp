#include <sluice/llm/whole_text.hpp>

#include "llm/errors/quote.hpp"

#include <optional>
#include <utility>

namespace sluice::llm {

namespace {

class objection {
 public:
  errc code;
  std::string message;
};

std::string names_of(const std::vector<tool_call>& calls) {
  std::string names;
  for (const tool_call& call : calls) names += (names.empty() ? "" : ", ") + call.name;
  return names;
}

std::optional<objection> objection_to(const reply& answer) {
  if (!answer.refusal.empty() || answer.finish == finish_reason::refusal) {
    const std::string& words = answer.refusal.empty() ? answer.text : answer.refusal;
    return objection{errc::content_filtered,
                     "the model would not answer" + (words.empty() ? std::string() : ": " + quote(words, {}))};
  }
  if (answer.finish == finish_reason::content_filter) {
    return objection{errc::content_filtered, "the provider's filter cut the answer off"};
  }
  if (!answer.tool_calls.empty()) {
    return objection{errc::provider_refused, "the model called tools in place of an answer (" +
                                                 quote(names_of(answer.tool_calls), {}) + "); use chat"};
  }
  if (answer.finish == finish_reason::length) {
    return objection{errc::too_large, "the answer came to its limit on tokens and is not whole; raise limit_output"};
  }
  if (answer.finish == finish_reason::paused) {
    return objection{errc::provider_refused, "the provider paused the answer; use chat, and send it back to go on"};
  }
  if (answer.text.empty()) return objection{errc::provider_refused, "the answer is empty"};
  return std::nullopt;
}

}  // namespace

expected<std::string, failure> whole_text(expected<reply, failure> answer) {
  if (!answer) return unexpected<failure>(std::move(answer).error());
  auto wrong = objection_to(*answer);
  if (!wrong) return std::move(answer->text);
  failure told(wrong->code, std::move(wrong->message), call_phase::answering);
  told.request_id = answer->request_id;
  told.partial = *std::move(answer);
  return unexpected<failure>(std::move(told));
}

}  // namespace sluice::llm
