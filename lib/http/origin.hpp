/// \file
/// The part of a URL that may be shown in a message.
#pragma once

#include <string>
#include <string_view>

namespace sluice::http {

/// `host:port` of `url`, with the scheme's port when none is written. Never its user, password, path or query, which
/// may hold secrets. "an unreadable address" when there is no host in it.
[[nodiscard]] std::string origin_of(std::string_view url);

/// Whether `url`, which is one of HTTP's, asks for TLS.
[[nodiscard]] constexpr bool is_tls(std::string_view url) noexcept {
  return url.size() > 4 && (url[4] == 's' || url[4] == 'S');
}

}  // namespace sluice::http
