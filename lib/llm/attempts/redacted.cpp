#include "llm/attempts/redacted.hpp"

namespace sluice::llm {

std::string redacted(std::string_view text, const secrets& hidden, std::size_t most) {
  if (hidden.empty()) return std::string(text.substr(0, most));
  std::string clean;
  while (clean.size() < most) {
    const secret_place found = hidden.find(text, false);
    clean.append(text.substr(0, found.begin));
    if (found.length == 0 || found.partial) break;
    text.remove_prefix(found.begin + found.length);
    clean += "[key]";
  }
  if (clean.size() > most) clean.resize(most);
  return clean;
}

}  // namespace sluice::llm
