/// \file
/// Finding a key in a text, however it is spelled there.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice::llm {

/// Where a secret stands in a text. Numbers alone.
struct secret_place {
  /// The text's length when it is not there.
  std::size_t begin = 0;
  std::size_t length = 0;
  /// The text ends before the secret does.
  bool partial = false;
};

/// The first place where `secret` stands, or begins to stand at the very end of `text`: as it is, with characters
/// escaped as JSON does (`\/`, `\u002f`), or encoded as in a URL (`%2F`). Linear in the text, as a rule. Precondition:
/// the secret is not empty.
[[nodiscard]] secret_place find_secret(std::string_view text, std::string_view secret) noexcept;

}  // namespace sluice::llm
