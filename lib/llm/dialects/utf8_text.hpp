/// \file
/// Text that should be UTF-8, and may not be.
#pragma once

#include <string>
#include <string_view>

namespace sluice::llm {

/// `text` decoded as the Encoding Standard has it, which browsers follow: bytes that are no UTF-8 become U+FFFD, one
/// for each longest piece that could have begun a character. Linear.
[[nodiscard]] std::string decoded_utf8(std::string_view text);

}  // namespace sluice::llm
