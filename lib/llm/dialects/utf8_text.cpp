#include "llm/dialects/utf8_text.hpp"

#include <cstddef>

namespace sluice::llm {

namespace {

struct sequence {
  /// Bytes that belong together, whole or not.
  std::size_t length = 1;
  bool whole = false;
};

sequence first_of(std::string_view text) noexcept {
  const auto at = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, true};
  const std::size_t wanted = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 1;
  if (wanted == 1) return {};
  // Neither the long way to spell a character, nor half a surrogate pair, nor beyond U+10FFFF.
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < wanted; ++i) {
    if (i == text.size() || at(i) < (i == 1 ? least : 0x80) || at(i) > (i == 1 ? most : 0xBF)) return {i, false};
  }
  return {wanted, true};
}

}  // namespace

std::string decoded_utf8(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  while (!text.empty()) {
    const sequence next = first_of(text);
    decoded += next.whole ? text.substr(0, next.length) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(next.length);
  }
  return decoded;
}

}  // namespace sluice::llm
