/// \file
/// `argument_schema`: the JSON schema of a tool's arguments, made ready once, and what is wrong with arguments by it.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace sluice::agent::detail {

/// Arguments nested deeper than this are refused unread.
inline constexpr std::size_t most_argument_depth = 128;

/// Immutable. Thread safety: all members, from any thread.
///
/// Draft 7 as valijson knows it, and what of later drafts can be told in its terms (`rewrite_keywords`), with these
/// differences: `format` is a remark, as the standard has it; whole numbers are integers however they are written
/// (`3.0`, `1e3`); patterns are those of RE2 (`schema_pattern`), so that each takes linear time. A name that an object
/// gives twice is refused. Arguments that take more than 100,000 steps to check, and 2 for each of their bytes, are too
/// complex: a step is one schema that one value is held against. What is surely right is found so without valijson
/// (`quick_schema`), and without the bound.
class argument_schema {
 public:
  /// Errors: `errc::invalid_configuration` in words that go on from "the schema of its arguments ": no JSON object, not
  /// one of objects, a name twice in one object, a keyword of the wrong type or that cannot be checked, a reference
  /// that leads out of the schema, to what is no schema or round in a circle, a pattern that is none.
  [[nodiscard]] static expected<argument_schema, error> compile(std::string_view text);
  argument_schema(argument_schema&&) noexcept;
  argument_schema& operator=(argument_schema&&) noexcept;
  ~argument_schema();

  /// Errors: `errc::invalid_argument`, in one or two sentences for the model that name the place and what is wrong
  /// there. Never throws for what the arguments hold. O(arguments).
  [[nodiscard]] expected<void, error> check(std::string_view arguments) const;
  /// The same, by valijson alone: what `check` gives agrees with it.
  [[nodiscard]] expected<void, error> check_in_full(std::string_view arguments) const;
  /// Whether arguments that are right may be found so without valijson.
  [[nodiscard]] bool is_quick() const noexcept;

 private:
  class rules;
  explicit argument_schema(std::unique_ptr<const rules> made) noexcept;

  std::unique_ptr<const rules> rules_;
};

}  // namespace sluice::agent::detail
