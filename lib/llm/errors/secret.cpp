#include "llm/errors/secret.hpp"

#include <optional>

namespace sluice::llm {

namespace {

int hex(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// How many characters spell `wanted` at the beginning of `text`: zero when they do not, nothing when the text ends
// before that is clear.
std::optional<std::size_t> spelling(std::string_view text, char wanted) noexcept {
  if (text.empty()) return std::nullopt;
  if (text[0] == wanted) return 1;
  std::string_view digits;
  if (text[0] == '%') {
    digits = text.substr(1, 2);
    if (digits.size() < 2) return std::nullopt;
  } else if (text[0] == '\\') {
    if (text.size() < 2) return std::nullopt;
    if (text[1] == wanted) return 2;
    if (text[1] != 'u') return 0;
    digits = text.substr(2, 4);
    if (digits.size() < 4) return std::nullopt;
  } else {
    return 0;
  }
  int code = 0;
  for (const char digit : digits) {
    if (hex(digit) < 0) return 0;
    code = code * 16 + hex(digit);
  }
  return code == static_cast<unsigned char>(wanted) ? digits.size() + (text[0] == '%' ? 1U : 2U) : 0U;
}

}  // namespace

secret_place find_secret(std::string_view text, std::string_view secret) noexcept {
  const char starts[] = {secret.front(), '%', '\\'};
  const std::string_view candidates(starts, sizeof starts);
  for (std::size_t at = text.find_first_of(candidates); at < text.size(); at = text.find_first_of(candidates, at + 1)) {
    std::size_t length = 0;
    bool here = true;
    for (const char wanted : secret) {
      const auto spelled = spelling(text.substr(at + length), wanted);
      if (!spelled) return {at, text.size() - at, true};
      if (*spelled == 0) {
        here = false;
        break;
      }
      length += *spelled;
    }
    if (here) return {at, length, false};
  }
  return {text.size(), 0, false};
}

}  // namespace sluice::llm
