/// \file
/// JSON that comes as text from models and callers, judged before it is used.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::llm {

using json_value = nlohmann::ordered_json;

/// An empty object with room for so many members. One that has to grow copies all that is in it.
[[nodiscard]] json_value object_with_room(std::size_t members);

/// Deeper JSON is refused: writing it takes stack. Nobody's schema or arguments come near.
constexpr std::size_t most_json_depth = 512;

enum class json_kind : std::uint8_t {
  object,
  /// JSON, but no object.
  other,
  /// It begins like JSON, and goes deeper than the limit.
  too_deep,
  /// No JSON.
  none,
};

/// In linear time, with memory for the depth alone.
[[nodiscard]] json_kind judge_json(std::string_view text);

/// The JSON in `text`; nothing when it is none, or too deep.
[[nodiscard]] std::optional<json_value> parse_json(std::string_view text);
/// The same when it is an object.
[[nodiscard]] std::optional<json_value> parse_object(std::string_view text);

}  // namespace sluice::llm
