#include "http/origin.hpp"

#include "http/ascii.hpp"

namespace sluice::http {

std::string origin_of(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  const std::string_view scheme = scheme_end == url.npos ? "http" : url.substr(0, scheme_end);
  std::string_view authority = scheme_end == url.npos ? url : url.substr(scheme_end + 3);
  // A backslash ends the authority too, for some parsers: the shortest reading is the one that shows least.
  authority = authority.substr(0, authority.find_first_of("/?#\\"));
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) authority.remove_prefix(at + 1);
  for (const char c : authority) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) return "an unreadable address";
  }
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != authority.npos && (bracket == authority.npos || colon > bracket);
  const std::string_view host = has_port ? authority.substr(0, colon) : authority;
  std::string_view port = has_port ? authority.substr(colon + 1) : std::string_view{};
  if (host.empty()) return "an unreadable address";
  if (port.find_first_not_of("0123456789") != port.npos) return "an unreadable address";
  if (port.empty()) port = equal_ignoring_case(scheme, "https") ? "443" : "80";
  return std::string(host) + ':' + std::string(port);
}

}  // namespace sluice::http
