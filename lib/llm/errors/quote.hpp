/// \file
/// What a message may show of a provider's words.
#pragma once

#include "llm/errors/secrets.hpp"

#include <string>
#include <string_view>

namespace sluice::llm {

/// `text` as one line of at most about 300 bytes: the secrets in it are blotted out, runs of white space and control
/// characters become one space, bytes that are no UTF-8 become `?`, and what is left off is marked with `...`.
[[nodiscard]] std::string quote(std::string_view text, const secrets& hidden);

}  // namespace sluice::llm
