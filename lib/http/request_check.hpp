/// \file
/// What may be sent: nothing that could be read as a second header, request or address.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/http/transport.hpp>

#include <optional>

namespace sluice::http {

/// Why `what` must not be sent (`errc::invalid_argument`), or nothing. The message holds no header's value.
[[nodiscard]] std::optional<error> check_request(const request& what);

}  // namespace sluice::http
