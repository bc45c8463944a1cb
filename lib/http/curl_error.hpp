/// \file
/// What libcurl's results mean.
#pragma once

#include <sluice/core/error.hpp>

#include <curl/curl.h>

#include <string>
#include <string_view>

namespace sluice::http {

/// The kind of a failed transfer. `connected` tells whether the request had a connection when it failed.
[[nodiscard]] errc kind_of(CURLcode result, bool connected) noexcept;

/// The error of a failed transfer with `origin` ("host:port"). `detail` is libcurl's own text, or empty; it is used
/// only for the kinds where it cannot quote what was sent. `received` is the number of body bytes before the failure.
[[nodiscard]] error transfer_error(CURLcode result, bool connected, std::string_view origin, std::string_view detail,
                                   std::size_t received);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::size_t number);

}  // namespace sluice::http
