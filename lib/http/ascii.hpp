/// \file
/// HTTP's characters: ASCII whatever the locale says.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sluice::http {

[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ascii_lower(a[i]) != ascii_lower(b[i])) return false;
  }
  return true;
}

/// The characters of RFC 9110's tokens.
inline constexpr std::array<bool, 256> token_characters = [] {
  std::array<bool, 256> table{};
  for (const char c :
       std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

/// What RFC 9110 calls a token: methods and header names.
[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  for (const char c : text) {
    if (!token_characters[static_cast<unsigned char>(c)]) return false;
  }
  return !text.empty();
}

}  // namespace sluice::http
