#include "llm/attempts/redacted.hpp"

#include <algorithm>

namespace sluice::llm {

std::string redacted(std::string_view text, std::string_view secret, std::size_t most) {
  if (secret.empty()) return std::string(text.substr(0, most));
  std::string clean;
  while (clean.size() < most) {
    const std::size_t found = text.find(secret);
    if (found == text.npos) break;
    clean.append(text.substr(0, found));
    clean += "[key]";
    text.remove_prefix(found + secret.size());
  }
  std::size_t cut = std::min(secret.size() - 1, text.size());
  while (cut > 0 && !text.ends_with(secret.substr(0, cut))) --cut;
  clean.append(text.substr(0, text.size() - cut));
  if (clean.size() > most) clean.resize(most);
  return clean;
}

}  // namespace sluice::llm
