/// \file
/// `curl_options`: how the transport over libcurl connects, what it trusts, and how much it keeps.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::http {

/// Which HTTP is spoken.
enum class http_version : std::uint8_t {
  /// Over TLS HTTP/2 where the server has it, else HTTP/1.1. Without TLS always HTTP/1.1.
  automatic,
  /// HTTP/1.1 alone: each exchange has a connection to itself.
  http1_1,
  /// HTTP/2 or nothing: an answer in another version is `errc::protocol_error`, a URL without TLS
  /// `errc::invalid_argument`.
  http2,
};

/// `sluice/` and the library's version.
[[nodiscard]] std::string default_user_agent();

/// How a transport over libcurl behaves. A plain value; `validate` says whether it holds.
class curl_options {
 public:
  curl_options() = default;

  /// Certificates in PEM to trust in place of the system's; a path, or empty. Of a proxy over TLS too.
  std::string ca_bundle;
  /// The certificate to show to servers that ask for one, in PEM; a path, or empty.
  std::string client_certificate;
  /// Its key in PEM; a path, or empty when it is in the same file. The password is that of an encrypted key; it is in
  /// no error.
  std::string client_key;
  std::string client_key_password;
  /// Believe any server whatever it shows, and so whoever sits in between. Only ever for a test against a throw-away
  /// server; to trust a certificate of your own, name it in `ca_bundle`.
  bool dangerously_skip_tls_verification = false;

  /// Empty: as `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` in the environment say. `none`: never one. Else
  /// all requests go through this: `http://`, `https://` or `socks5h://`, then `user:password@` (encoded as in any
  /// URL; in no error), then host and port. A proxy that wants other credentials (407) is
  /// `errc::invalid_configuration`, one that does not connect us `errc::connect_failed`.
  std::string proxy;
  /// A Unix socket that all requests go to; a path, or empty. The URL's host is then only a name. Excludes a proxy.
  std::string unix_socket;
  /// Addresses that hosts have in place of what the name service says: `host:port:address`, more addresses after
  /// commas, IPv6 in brackets.
  std::vector<std::string> resolve;

  http_version version = http_version::automatic;
  /// Exchanges that share one connection of HTTP/2; zero: as many as the server allows.
  long max_streams_per_connection = 0;
  /// Connections kept open for reuse when idle; at least 1.
  long max_idle_connections = 256;

  /// What is sent as `user-agent` when a request names none; empty: nothing.
  std::string user_agent = default_user_agent();
  /// Refuse an answer's head beyond this many bytes with `errc::too_large`. At most 262,144. libcurl has bounds of its
  /// own, whatever is set here: 102,400 bytes a line; over HTTP/2 131,072 in all, 65,536 a line
  /// (`errc::connection_lost`), and as much in all beside other streams (`errc::protocol_error`).
  std::size_t max_header_bytes = std::size_t{256} << 10;
  /// Bytes of one answer's body that may wait for their reader before its connection is paused; at least 1.
  std::size_t read_buffer = std::size_t{1} << 20;
};

/// Checks options, and that the files named in them can be read. Errors: `errc::invalid_configuration`, naming the
/// field; never what a password or the proxy's user is.
[[nodiscard]] expected<void, error> validate(const curl_options& checked);

}  // namespace sluice::http
