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

/// How a transfer failed.
struct transfer_end {
  CURLcode result = CURLE_OK;
  /// Whether the request had a connection, and the answer's head was there.
  bool connected = false;
  bool has_head = false;
  /// Whether it may have gone over HTTP/2.
  bool maybe_http2 = false;
  /// Bytes of the body before the failure.
  std::size_t received = 0;
  /// libcurl's own text, or empty. It is shown only where it cannot quote what was sent.
  std::string_view detail{};
  /// What a proxy said to CONNECT, or zero.
  long proxy_status = 0;
};

/// Its error, beginning with `peer` ("host:port").
[[nodiscard]] error transfer_error(const transfer_end& end, std::string_view peer);

/// What is said of a proxy's 407.
inline constexpr std::string_view proxy_wants_credentials =
    "the proxy wants to know who asks, or did not believe it (407): see curl_options::proxy";

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::size_t number);

}  // namespace sluice::http
