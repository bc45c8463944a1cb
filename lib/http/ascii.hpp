/// \file
/// HTTP's characters: ASCII whatever the locale says.
#pragma once

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

/// What RFC 9110 calls a token: methods and header names.
[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  for (const char c : text) {
    const char low = ascii_lower(c);
    if (!((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || marks.find(c) != marks.npos)) return false;
  }
  return !text.empty();
}

}  // namespace sluice::http
