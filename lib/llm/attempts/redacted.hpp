/// \file
/// What a record may keep of a body.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::llm {

/// The first `most` bytes of `text`, with the secret blotted out wherever it stands, also escaped (`find_secret`). `text` may be the beginning of
/// something longer: a part of the secret at its very end is left off.
[[nodiscard]] std::string redacted(std::string_view text, std::string_view secret, std::size_t most);

}  // namespace sluice::llm
