#include "llm/errors/quote.hpp"

#include <cstddef>

namespace sluice::llm {

namespace {

constexpr std::size_t most = 300;
// As much of the text as could matter to the quotation, and no more: bodies may be large.
constexpr std::size_t most_read = 16 * most;

// The length of the UTF-8 sequence that `text` begins with; zero when it is none.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// Before anything is cut: half a key is a secret too.
std::string without_secrets(std::string_view text, const secrets& hidden) {
  if (hidden.empty()) return std::string(text.substr(0, most_read));
  std::string clean;
  while (clean.size() < most_read) {
    const secret_place found = hidden.find(text, true);
    clean.append(text.substr(0, found.begin));
    if (found.length == 0) break;
    clean += "[key]";
    text.remove_prefix(found.begin + found.length);
  }
  return clean;
}

}  // namespace

std::string quote(std::string_view text, const secrets& hidden) {
  const std::string clean = without_secrets(text, hidden);
  std::string line;
  std::string_view rest = clean;
  bool gap = false;
  while (!rest.empty()) {
    const auto first = static_cast<unsigned char>(rest.front());
    if (first <= ' ' || first == 0x7F) {
      gap = !line.empty();
      rest.remove_prefix(1);
      continue;
    }
    if (line.size() >= most) return line + "...";
    if (gap) line += ' ';
    gap = false;
    const std::size_t length = sequence_length(rest);
    if (length == 0) {
      line += '?';
      rest.remove_prefix(1);
    } else {
      line += rest.substr(0, length);
      rest.remove_prefix(length);
    }
  }
  return line;
}

}  // namespace sluice::llm
