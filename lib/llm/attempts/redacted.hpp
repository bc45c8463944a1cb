/// \file
/// What a record may keep of a body.
#pragma once

#include "llm/errors/secrets.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::llm {

/// The first `most` bytes of `text`, with the secrets blotted out wherever they stand, also escaped (`find_secret`).
/// `text` may be the beginning of something longer: a part of a secret at its very end is left off.
[[nodiscard]] std::string redacted(std::string_view text, const secrets& hidden, std::size_t most);

}  // namespace sluice::llm
