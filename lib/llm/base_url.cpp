#include "llm/base_url.hpp"

#include "http/ascii.hpp"

#include <charconv>

namespace sluice::llm {

namespace {

unexpected<error> wrong(const char* what) {
  return unexpected<error>(error(errc::invalid_configuration,
                                 std::string("base_url ") + what + "; it should look like https://api.openai.com/v1"));
}

bool is_port(std::string_view text) noexcept {
  unsigned value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && value > 0 && value < 65'536;
}

}  // namespace

expected<void, error> check_base_url(std::string_view url) {
  if (url.empty()) return wrong("is empty");
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F) return wrong("holds a space or a control character");
  }
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return wrong("has no scheme");
  if (!http::equal_ignoring_case(url.substr(0, scheme), "http") &&
      !http::equal_ignoring_case(url.substr(0, scheme), "https")) {
    return wrong("is neither http nor https");
  }
  const std::string_view rest = url.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#\\"));
  if (rest.find_first_of("#\\") != rest.npos) return wrong("holds a fragment or a backslash");
  if (authority.find('@') != authority.npos) return wrong("holds a user or a password; give the key as api_key");

  const bool literal = authority.starts_with('[');
  const std::size_t host_end = literal ? authority.find(']') : authority.find(':');
  if (literal && host_end == authority.npos) return wrong("has an address without its closing bracket");
  const std::size_t after_host = literal ? host_end + 1 : host_end;
  if (host_end == 0 || authority.empty() || (literal && host_end == 1)) return wrong("has no host");
  if (after_host < authority.size()) {
    if (authority[after_host] != ':' || !is_port(authority.substr(after_host + 1)))
      return wrong("has no readable port");
  }
  return {};
}

std::string below(std::string_view base_url, std::string_view path) {
  const std::size_t query = base_url.find('?');
  std::string_view stem = base_url.substr(0, query);
  while (stem.ends_with('/')) stem.remove_suffix(1);
  std::string whole(stem);
  whole += path;
  if (query != base_url.npos) whole += base_url.substr(query);
  return whole;
}

}  // namespace sluice::llm
