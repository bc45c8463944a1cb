#include "llm/dialects/wire_ids.hpp"

#include "llm/dialects/call_ids.hpp"

#include <unordered_map>
#include <utility>

namespace sluice::llm {

namespace {

std::string spelled(std::string id, id_alphabet allowed) {
  if (allowed == id_alphabet::any) return id;
  for (char& c : id) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!fits) c = '_';
  }
  return id;
}

// The calls of one id in the latest turn that made it, of which `answered` have their results.
class turn {
 public:
  std::size_t message = 0;
  std::vector<std::string> sent;
  std::size_t answered = 0;
};

}  // namespace

wire_ids::wire_ids(const std::vector<message>& conversation, id_alphabet allowed) {
  call_ids unique;
  for (const message& said : conversation) {
    for (const tool_call& call : said.tool_calls) unique.take(spelled(call.id, allowed));
  }
  std::unordered_map<std::string, turn> open;
  ids_.reserve(conversation.size());
  for (std::size_t at = 0; at < conversation.size(); ++at) {
    const message& said = conversation[at];
    std::vector<std::string>& ids = ids_.emplace_back();
    for (const tool_call& call : said.tool_calls) {
      turn& made = open[call.id];
      if (made.message != at || made.sent.empty()) {
        made = {};
        made.message = at;
      }
      ids.push_back(made.sent.emplace_back(unique.unique(spelled(call.id, allowed), 2)));
    }
    if (said.who != role::tool) continue;
    const auto found = open.find(said.tool_call_id);
    if (found == open.end()) {
      ids.push_back(spelled(said.tool_call_id, allowed));
      continue;
    }
    turn& made = found->second;
    ids.push_back(made.sent[made.answered]);
    if (made.answered + 1 < made.sent.size()) ++made.answered;
  }
}

}  // namespace sluice::llm
