/// \file
/// The value of one field: from JSON, with an error that names the field and shows the value.
#pragma once

#include "config/json_fields.hpp"

#include <sluice/core/time.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::config {

/// Nothing, or what is wrong with the field.
using field_fault = std::optional<error>;

[[nodiscard]] error wrong_type(const json_field& field, std::string_view wanted);

[[nodiscard]] field_fault read_flag(const json_field& field, bool& into);
[[nodiscard]] field_fault read_whole(const json_field& field, std::int64_t least, std::int64_t greatest,
                                     std::int64_t& into);
/// A whole number, or "unlimited".
[[nodiscard]] field_fault read_amount(const json_field& field, std::int64_t& into);
[[nodiscard]] field_fault read_fraction(const json_field& field, double& into);
/// Milliseconds, exact to the nanosecond.
[[nodiscard]] field_fault read_milliseconds(const json_field& field, duration& into);

}  // namespace sluice::config
