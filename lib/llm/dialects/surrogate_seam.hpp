/// \file
/// `surrogate_seam`: text in pieces, where the halves of a surrogate pair may come in two of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::llm {

/// Some servers cut their answers between two UTF-16 units, so that `\ud83d` ends one delta and `\ude00` begins the
/// next. A half is held as the three bytes that UTF-8 would give it, were it a character.
class surrogate_seam {
 public:
  /// Appends `from`. Halves that meet become one character, a half that meets none U+FFFD; one at the very end is held
  /// back.
  void append(std::string& to, std::string_view from);
  /// Nothing follows: appends U+FFFD for a half that is held back.
  void end(std::string& to);

 private:
  unsigned high_ = 0;
};

/// What stands between the quotes of a JSON string, with its escapes undone; halves of pairs are kept as halves.
/// Nothing when it has an escape that JSON does not know.
[[nodiscard]] std::optional<std::string> unescape_halves(std::string_view raw);

}  // namespace sluice::llm
