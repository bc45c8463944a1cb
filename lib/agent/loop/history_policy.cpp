#include <sluice/agent/history_policy.hpp>

namespace sluice::agent {

llm::conversation fitted(const llm::conversation& talk, std::int64_t most, std::string_view model) {
  llm::conversation part = talk;
  part.trim(most, model);
  return part;
}

}  // namespace sluice::agent
