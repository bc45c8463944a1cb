/// \file
/// Reading requests for OpenAI chat completions.
#pragma once

#include "testing/wire_dialect.hpp"

namespace sluice::testing {

[[nodiscard]] std::optional<wire_error> read_chat(mock_request& request);

}  // namespace sluice::testing
