/// \file
/// Texts of a given size, to ask with.
#pragma once

#include <cstdint>
#include <string>

namespace contention {

/// About so many tokens of plain words: four characters each.
[[nodiscard]] inline std::string words(std::int64_t tokens) {
  static constexpr const char* few[] = {"the ", "sea ", "has ", "its ", "own ", "way "};
  std::string text;
  text.reserve(static_cast<std::size_t>(tokens) * 4);
  for (std::int64_t i = 0; i < tokens; ++i) text += few[i % 6];
  return text;
}

/// What to reserve for an answer that is expected to be of `expected` tokens: people leave room.
[[nodiscard]] constexpr std::int64_t output_room(std::int64_t expected) { return expected + expected / 2 + 16; }

}  // namespace contention
