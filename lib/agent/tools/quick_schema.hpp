/// \file
/// Arguments that are right, told at once: the common schemas, over the text itself.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace sluice::agent::detail {

struct quick_rules;

/// A schema of types, names, lists, alternatives, references within it, and limits of numbers, lengths and counts.
///
/// Immutable. Thread safety: all members, from any thread.
class quick_schema {
 public:
  /// Nothing when `schema`, which has been reviewed, has anything else.
  [[nodiscard]] static std::optional<quick_schema> compile(const nlohmann::json& schema);
  quick_schema(quick_schema&&) noexcept;
  quick_schema& operator=(quick_schema&&) noexcept;
  ~quick_schema();

  /// Whether `arguments` are JSON, an object without names that are given twice, nested no deeper than `most_depth`,
  /// and of the schema. False also when that is not easily told. O(arguments); allocates nothing when they are no
  /// longer than others that the thread has checked, and not long.
  [[nodiscard]] bool fits(std::string_view arguments, std::size_t most_depth) const;

 private:
  explicit quick_schema(std::unique_ptr<const quick_rules> made) noexcept;

  std::unique_ptr<const quick_rules> rules_;
};

}  // namespace sluice::agent::detail
