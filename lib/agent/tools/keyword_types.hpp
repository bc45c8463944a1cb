/// \file
/// What the keywords of a JSON schema must be: numbers, lists, schemas.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <nlohmann/json.hpp>

namespace sluice::agent::detail {

/// Looks at each schema in `schema`, and at those that it refers to within itself, as they were written; numbers as
/// `normalise_numbers` leaves them. Unknown keywords may hold anything.
/// Errors: `errc::invalid_configuration`, in words that go on from "the schema of its arguments ": a keyword of the
/// wrong type, by its place; a reference to what stands where no schema can, such as the object of all properties.
[[nodiscard]] expected<void, error> check_keyword_types(const nlohmann::json& schema);

}  // namespace sluice::agent::detail
