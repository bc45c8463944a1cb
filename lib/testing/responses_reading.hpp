/// \file
/// Reading requests for OpenAI Responses.
#pragma once

#include "testing/wire_dialect.hpp"

namespace sluice::testing {

[[nodiscard]] std::optional<wire_error> read_responses(mock_request& request);

}  // namespace sluice::testing
