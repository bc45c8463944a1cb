/// \file
/// What models and people are told about tool calls, as text.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/llm/tool_call.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::agent::detail {

/// The arguments that a call gives: an empty text is none.
[[nodiscard]] std::string_view given_arguments(const llm::tool_call& call) noexcept;

/// Words of a model within a message: one line, at most about 80 bytes of it, and no bytes that are not UTF-8.
[[nodiscard]] std::string shown(std::string_view text);

/// A limit of time: exact in seconds below two minutes (`0.05 s`, `12 s`), else `5 minutes`.
[[nodiscard]] std::string time_limit(duration limit);

/// Cuts `text` to at most `most` bytes, at a whole character, and says so behind them. Does nothing when it is not
/// longer.
void cut(std::string& text, std::size_t most);

}  // namespace sluice::agent::detail
