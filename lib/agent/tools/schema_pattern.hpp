/// \file
/// A regular expression of a JSON schema, which is matched in time linear to the text, whatever it is.
#pragma once

#include <sluice/core/expected.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::agent::detail {

/// ECMAScript's syntax as far as RE2 has it, over characters of UTF-8. Looking ahead is known where a pattern begins,
/// between its `^` and the rest (`^(?!\.)(?=.*\d).{8,}$`): each such part is matched for itself.
///
/// Immutable. Thread safety: all members, from any thread.
class schema_pattern {
 public:
  /// Errors: why it cannot be used, in a few words.
  [[nodiscard]] static expected<schema_pattern, std::string> compile(std::string_view pattern);
  schema_pattern(schema_pattern&&) noexcept;
  schema_pattern& operator=(schema_pattern&&) noexcept;
  ~schema_pattern();

  /// Whether it matches anywhere in `text`. O(text), takes no stack by it.
  [[nodiscard]] bool found_in(std::string_view text) const;
  /// How much larger than a small one it is: a factor for the time that it takes.
  [[nodiscard]] std::size_t weight() const noexcept { return weight_; }

 private:
  class part;
  schema_pattern() noexcept;

  std::vector<part> parts_;
  std::size_t weight_ = 1;
};

}  // namespace sluice::agent::detail
