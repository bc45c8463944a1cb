#include "http/proxy_address.hpp"

#include "http/ascii.hpp"

#include <curl/curl.h>

#include <memory>

namespace sluice::http {
namespace {

struct release {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
  void operator()(char* text) const noexcept { curl_free(text); }
};
using parsed_url = std::unique_ptr<CURLU, release>;

parsed_url parse(std::string_view url) {
  parsed_url parsed(curl_url());
  // libcurl's own parser, so that it reads a proxy no differently later. Not all of its schemes are known to it as
  // such.
  constexpr unsigned flags = CURLU_NON_SUPPORT_SCHEME;
  if (parsed && curl_url_set(parsed.get(), CURLUPART_URL, std::string(url).c_str(), flags) != CURLUE_OK) return nullptr;
  return parsed;
}

std::string part_of(const parsed_url& url, CURLUPart which) {
  char* text = nullptr;
  if (!url || curl_url_get(url.get(), which, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, release> owned(text);
  return owned.get();
}

std::string_view scheme_of(std::string_view url) noexcept { return url.substr(0, url.find("://")); }

}  // namespace

std::optional<std::string> wrong_with_proxy(std::string_view url) {
  const std::string_view scheme = scheme_of(url);
  bool known = false;
  for (const std::string_view name : {"http", "https", "socks5h"}) known = known || equal_ignoring_case(scheme, name);
  if (!known || scheme.size() == url.size())
    return "it begins with none of http://, https:// and socks5h://, and is not 'none'";
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) return "it holds a space or a control character";
  }
  const parsed_url parsed = parse(url);
  if (part_of(parsed, CURLUPART_HOST).empty()) return "it is no URL with a host";
  const std::string path = part_of(parsed, CURLUPART_PATH);
  if ((!path.empty() && path != "/") || !part_of(parsed, CURLUPART_QUERY).empty() ||
      !part_of(parsed, CURLUPART_FRAGMENT).empty()) {
    return "it has more than a user, a password, a host and a port";
  }
  return std::nullopt;
}

std::string proxy_origin(std::string_view url) {
  const parsed_url parsed = parse(url);
  std::string port = part_of(parsed, CURLUPART_PORT);
  if (port.empty()) port = equal_ignoring_case(scheme_of(url), "https") ? "443" : "1080";
  return part_of(parsed, CURLUPART_HOST) + ':' + port;
}

}  // namespace sluice::http
