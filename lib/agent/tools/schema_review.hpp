/// \file
/// A JSON schema before it is used: what would make its check unsafe is refused or mended.
#pragma once

#include "agent/tools/schema_pattern.hpp"

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::agent::detail {

/// By what they are compiled from.
using patterns = std::unordered_map<std::string, schema_pattern>;

/// Checks the keywords of `schema` (`check_keyword_types`), rewrites them (`rewrite_keywords`), compiles its patterns,
/// and follows its references. Errors: as `argument_schema::compile`.
[[nodiscard]] expected<patterns, error> review_schema(nlohmann::json& schema);

/// Whole numbers become integers however they were written, and integers that no `int64` holds become inexact.
void normalise_numbers(nlohmann::json& value);

/// How deep brackets are nested in JSON text, at most: in linear time, without a stack. Exact for text that is JSON.
[[nodiscard]] std::size_t nesting_depth(std::string_view text) noexcept;

}  // namespace sluice::agent::detail
