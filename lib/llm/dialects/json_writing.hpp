/// \file
/// JSON as text, for bodies that go out.
#pragma once

#include "llm/dialects/json_text.hpp"

#include <string>

namespace sluice::llm {

/// The text of `value`, without a space between its parts. Bytes that are no UTF-8 become U+FFFD, one for each sequence
/// that breaks off. The same, byte for byte, as `dump` of nlohmann::json gives with its handler `replace`, in a
/// fraction of its time: prompts are long, and most of their characters need no change.
/// Linear. Takes stack with the depth of `value`.
[[nodiscard]] std::string written(const json_value& value);

}  // namespace sluice::llm
