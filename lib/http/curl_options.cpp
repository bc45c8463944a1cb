#include "http/curl_error.hpp"
#include "http/proxy_address.hpp"

#include <sluice/http/curl_options.hpp>

#include <asio/ip/address.hpp>

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace sluice::http {
namespace {

// libcurl 7.88 itself gives up a head of more than 300 KiB, in words that name no setting.
constexpr std::size_t most_header_bytes = std::size_t{256} << 10;

std::optional<std::string> wrong_with_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  struct stat found {};
  int reason = ::stat(path.c_str(), &found) != 0 || ::access(path.c_str(), R_OK) != 0 ? errno : 0;
  if (reason == 0 && S_ISDIR(found.st_mode)) reason = EISDIR;
  if (reason == 0) return std::nullopt;
  return path + " cannot be read: " + std::generic_category().message(reason);
}

bool is_printable(std::string_view text) noexcept {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) return false;
  }
  return true;
}

bool is_address(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  asio::error_code wrong;
  static_cast<void>(asio::ip::make_address(text, wrong));
  return !wrong;
}

// What does not hold, libcurl would only pass over.
bool is_resolve_entry(std::string_view entry) {
  const std::size_t host = entry.find(':');
  if (host == 0 || host == entry.npos) return false;
  const std::size_t port = entry.find(':', host + 1);
  if (port == entry.npos || entry.find_first_of("+-") == 0) return false;
  unsigned number = 0;
  const char* const last = entry.data() + port;
  const auto [end, bad] = std::from_chars(entry.data() + host + 1, last, number);
  if (bad != std::errc{} || end != last || number == 0 || number > 65'535) return false;
  for (std::string_view rest = entry.substr(port + 1);;) {
    const std::size_t comma = rest.find(',');
    if (!is_address(rest.substr(0, comma))) return false;
    if (comma == rest.npos) return true;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<std::string> wrong_with_route(const curl_options& checked) {
  const bool has_proxy = !checked.proxy.empty() && checked.proxy != "none";
  if (has_proxy) {
    if (auto wrong = wrong_with_proxy(checked.proxy)) return "proxy: " + *wrong;
  }
  constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;
  if (checked.unix_socket.size() > longest_path) {
    return "unix_socket: a path has at most " + std::to_string(longest_path) + " bytes, this one has " +
           std::to_string(checked.unix_socket.size());
  }
  if (checked.unix_socket.find('\0') != std::string::npos) return "unix_socket: it holds NUL";
  if (has_proxy && !checked.unix_socket.empty()) return "unix_socket: it excludes a proxy; set proxy to 'none'";
  for (const std::string& entry : checked.resolve) {
    if (!is_resolve_entry(entry)) return "resolve: '" + entry + "' is not host:port:address";
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with(const curl_options& checked) {
  if (auto wrong = wrong_with_file(checked.ca_bundle)) return "ca_bundle: " + *wrong;
  if (auto wrong = wrong_with_file(checked.client_certificate)) return "client_certificate: " + *wrong;
  if (auto wrong = wrong_with_file(checked.client_key)) return "client_key: " + *wrong;
  if (checked.client_certificate.empty()) {
    if (!checked.client_key.empty()) return "client_key: there is no client_certificate that it could belong to";
    if (!checked.client_key_password.empty()) return "client_key_password: there is no client_certificate";
  }
  if (auto wrong = wrong_with_route(checked)) return wrong;
  if (checked.version != http_version::automatic && checked.version != http_version::http1_1 &&
      checked.version != http_version::http2) {
    return "version: " + std::to_string(static_cast<int>(checked.version)) + " is none of http_version's values";
  }
  if (checked.max_streams_per_connection < 0) return "max_streams_per_connection: it is below 0";
  if (checked.max_idle_connections < 1) return "max_idle_connections: it is below 1";
  if (!is_printable(checked.user_agent)) return "user_agent: it holds a control character";
  if (checked.max_header_bytes < 1 || checked.max_header_bytes > most_header_bytes) {
    return "max_header_bytes: " + grouped(checked.max_header_bytes) + " is not from 1 to " + grouped(most_header_bytes);
  }
  if (checked.read_buffer < 1) return "read_buffer: it is below 1";
  return std::nullopt;
}

}  // namespace

std::string default_user_agent() { return "sluice/" SLUICE_VERSION; }

expected<void, error> validate(const curl_options& checked) {
  if (auto wrong = wrong_with(checked)) {
    return unexpected(error(errc::invalid_configuration, "curl_options::" + *std::move(wrong)));
  }
  return {};
}

}  // namespace sluice::http
