/// \file
/// Reading requests for Anthropic Messages.
#pragma once

#include "testing/wire_dialect.hpp"

namespace sluice::testing {

[[nodiscard]] std::optional<wire_error> read_messages(mock_request& request);

}  // namespace sluice::testing
