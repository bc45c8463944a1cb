#include "llm/attempts/redacted.hpp"

#include "llm/errors/secret.hpp"

namespace sluice::llm {

std::string redacted(std::string_view text, std::string_view secret, std::size_t most) {
  if (secret.empty()) return std::string(text.substr(0, most));
  std::string clean;
  while (clean.size() < most) {
    const secret_place found = find_secret(text, secret);
    clean.append(text.substr(0, found.begin));
    text.remove_prefix(found.begin + found.length);
    if (found.length == 0 || found.partial) break;
    clean += "[key]";
  }
  if (clean.size() > most) clean.resize(most);
  return clean;
}

}  // namespace sluice::llm
