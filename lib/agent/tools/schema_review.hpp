/// \file
/// A JSON schema before it is used: what would make its check unsafe is refused or mended.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::agent::detail {

using patterns = std::unordered_map<std::string, std::regex>;

/// The most items of an array that must be without duplicates: each is compared with each.
inline constexpr std::size_t most_unique_items = 1'000;

/// A keyword of no standard, which the review puts into the schemas that the check goes through: there the work of the
/// check is counted. Its value says whether the items of an array are compared with each other.
inline constexpr const char* counted_keyword = "$sluice-counted";

/// What the check of a schema needs beside it.
struct reviewed_schema {
  patterns compiled;
  /// Whether names of members are matched against patterns.
  bool matches_names = false;
};

/// Takes `format` out of `schema`, bounds what is quadratic, has its steps counted, and compiles its patterns.
/// Errors: as `argument_schema::compile`.
[[nodiscard]] expected<reviewed_schema, error> review_schema(nlohmann::json& schema);

/// Where a reference within `schema` (`#`, `#/$defs/place`) leads; null when it leads nowhere or out of it.
[[nodiscard]] const nlohmann::json* referred(const nlohmann::json& schema, std::string_view reference);

/// Whole numbers become integers however they were written, and integers that no `int64` holds become inexact.
void normalise_numbers(nlohmann::json& value);

/// How deep brackets are nested in JSON text, at most: in linear time, without a stack. Exact for text that is JSON.
[[nodiscard]] std::size_t nesting_depth(std::string_view text) noexcept;

}  // namespace sluice::agent::detail
