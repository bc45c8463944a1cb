/// \file
/// Text without the white space around it.
#pragma once

#include <string_view>

namespace sluice::llm {

[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

}  // namespace sluice::llm
