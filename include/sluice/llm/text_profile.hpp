/// \file
/// `text_profile`: what a text is made of, as far as its length in tokens depends on it.
#pragma once

#include <sluice/llm/text_ratios.hpp>

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace sluice::llm {

/// Counts characters of each kind in UTF-8, piece by piece; pieces may be cut anywhere. Numbers alone.
///
/// Prose, code and JSON are told apart by the share of digits and marks in what is ASCII, without a jump between them.
/// The kind of other characters is told by their first byte. Bytes that are no UTF-8 count as one character of `other`
/// each. Complexity: one pass; some GB/s for ASCII. Deterministic.
///
/// ```cpp
/// sluice::llm::text_profile seen;
/// seen.add("How long is this?");
/// const std::int64_t about = seen.tokens(sluice::llm::families::openai_o200k);  // 5
/// ```
struct text_profile {
  /// ASCII in all, and of it what is neither letter nor white space.
  std::int64_t ascii = 0;
  std::int64_t marks = 0;
  std::int64_t accented = 0;
  std::int64_t cyrillic = 0;
  std::int64_t cjk = 0;
  std::int64_t other = 0;
  std::int64_t emoji = 0;

  /// Adds a piece.
  void add(std::string_view piece) noexcept;

  /// The length by these ratios, not rounded.
  [[nodiscard]] double exact(const text_ratios& by) const noexcept;
  /// The same, rounded up; at most 2^62.
  [[nodiscard]] std::int64_t tokens(const text_ratios& by) const noexcept;

  friend constexpr bool operator==(const text_profile&, const text_profile&) noexcept = default;
};
static_assert(std::is_trivially_destructible_v<text_profile> && std::is_aggregate_v<text_profile>);

/// An estimated length as a whole number: rounded up, but for what is only the rounding of sums; between 0 and 2^62.
[[nodiscard]] std::int64_t whole_tokens(double exact) noexcept;

/// The length of a text in tokens, by estimate.
[[nodiscard]] std::int64_t count_tokens(std::string_view text, const text_ratios& by = families::generic) noexcept;

}  // namespace sluice::llm
