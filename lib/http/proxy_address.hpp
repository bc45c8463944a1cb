/// \file
/// What may be known of a proxy's URL without its user and password.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::http {

/// What is wrong with the proxy `url`, without quoting it; nothing when it is one of `http://`, `https://` and
/// `socks5h://` with a host, and no more than user, password and port beside it.
[[nodiscard]] std::optional<std::string> wrong_with_proxy(std::string_view url);

/// `host:port` of the proxy `url`, with the port that libcurl takes when none is written.
[[nodiscard]] std::string proxy_origin(std::string_view url);

}  // namespace sluice::http
