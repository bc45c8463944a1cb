/// \file
/// A JSON object as a flat list of its fields, each with its path: enough for settings, and every mistake has a place.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

/// One field of the document.
struct json_field {
  enum class kind : std::uint8_t { object, whole, fraction, text, boolean, null, array };
  /// The names on the way to it.
  std::vector<std::string> path;
  kind what{};
  /// The number of a `whole`; those that do not fit in 64 bits with a sign are a `fraction`.
  std::int64_t number = 0;
  bool truth = false;
  /// The value as it stands in the document, text without its quotes.
  std::string written;

  /// The names joined by dots; one that is no plain word is quoted.
  [[nodiscard]] std::string name() const;
};

/// The start of a value, for a message: enough to know it by.
[[nodiscard]] std::string shortened(const std::string& written);

[[nodiscard]] error wrong(const json_field& where, std::string_view what);

/// The fields in the order of the document, objects before what is in them. Errors: not JSON, not an object, a field
/// that stands twice, an array, more than `max_depth` objects in each other.
[[nodiscard]] expected<std::vector<json_field>, error> read_json_fields(std::string_view text, std::size_t max_depth);

}  // namespace sluice::config
