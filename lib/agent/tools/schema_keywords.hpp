/// \file
/// Keywords of later drafts of JSON Schema, in terms of draft 7.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sluice::agent::detail {

/// Whether what stands under `key` in a schema is schemas, and how.
enum class schema_place : std::uint8_t {
  /// No schema, or an unknown keyword.
  none,
  /// One, or a list of them, that judge the value that the schema itself judges.
  same_value,
  /// The same, by the names of members.
  same_value_by_name,
  /// One, or a list of them, for values below.
  below,
  /// The same, by name.
  below_by_name,
};
[[nodiscard]] schema_place place_of(std::string_view key) noexcept;

/// Calls `visit(child, steps, same_value)` for each schema that stands in this one and is an object; `steps` lead to it
/// (`/items/0`).
template <typename Json, typename Visit>
void each_schema_in(Json& node, Visit visit) {
  for (auto member = node.begin(); member != node.end(); ++member) {
    const schema_place place = place_of(member.key());
    if (place == schema_place::none || !member.value().is_structured()) continue;
    const bool same = place == schema_place::same_value || place == schema_place::same_value_by_name;
    const bool by_name = place == schema_place::same_value_by_name || place == schema_place::below_by_name;
    const auto under = nlohmann::json_pointer<std::string>() / member.key();
    if (!by_name && member.value().is_object()) {
      visit(member.value(), under.to_string(), same);
      continue;
    }
    if (by_name != member.value().is_object()) continue;
    std::size_t at = 0;
    for (auto child = member.value().begin(); child != member.value().end(); ++child, ++at) {
      if (!child->is_object()) continue;
      visit(*child, (by_name ? under / child.key() : under / at).to_string(), same);
    }
  }
}

/// Rewrites `schema`, and what it refers to within itself, so that draft 7 suffices: `prefixItems`,
/// `dependentRequired`, `dependentSchemas`, `unevaluatedProperties` and `unevaluatedItems` beside nothing that they
/// would have to look into, `minContains` of 0 and 1, limits that are exclusive by a flag, and what stands beside a
/// `$ref`. Places that references lead to stay where they are. Takes `format` out.
/// Errors: in words that go on from "the schema of its arguments ", what of them cannot be told in draft 7, by its
/// place.
[[nodiscard]] expected<void, error> rewrite_keywords(nlohmann::json& schema);

/// Where a reference within `schema` (`#`, `#/$defs/place`) leads; null when it leads nowhere or out of it.
[[nodiscard]] const nlohmann::json* referred(const nlohmann::json& schema, std::string_view reference);
[[nodiscard]] nlohmann::json* referred(nlohmann::json& schema, std::string_view reference);

}  // namespace sluice::agent::detail
