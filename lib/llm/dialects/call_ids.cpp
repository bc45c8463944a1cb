#include "llm/dialects/call_ids.hpp"

#include <algorithm>

namespace sluice::llm {

std::string call_ids::unique(std::string id, std::size_t place) {
  if (!id.empty() && used_.insert(id).second) return id;
  if (id.empty()) id = "call";
  std::size_t& number = next_[id];
  number = std::max(number, place);
  std::string made;
  do {
    made = id + '_' + std::to_string(number++);
  } while (!taken_.insert(made).second);
  used_.insert(made);
  return made;
}

}  // namespace sluice::llm
