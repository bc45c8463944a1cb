#include "http/request_check.hpp"

#include "http/ascii.hpp"

#include <string>

namespace sluice::http {
namespace {

// These frame the message, which is the transport's to do.
constexpr std::string_view framing[] = {"content-length", "transfer-encoding", "expect"};

error invalid(std::string message) { return {errc::invalid_argument, std::move(message)}; }

bool breaks_line(std::string_view text) noexcept {
  for (const char c : text) {
    if (c == '\r' || c == '\n' || c == '\0') return true;
  }
  return false;
}

bool is_http_url(std::string_view url) noexcept {
  const std::size_t end = url.find("://");
  if (end == url.npos) return false;
  const std::string_view scheme = url.substr(0, end);
  return equal_ignoring_case(scheme, "http") || equal_ignoring_case(scheme, "https");
}

std::optional<error> check_header(const header& line, std::size_t number) {
  if (!is_token(line.name())) return invalid("header " + std::to_string(number) + ": its name is not a token");
  if (breaks_line(line.value())) {
    return invalid("header " + line.name() + ": its value holds CR, LF or NUL");
  }
  for (const std::string_view name : framing) {
    if (equal_ignoring_case(line.name(), name)) return invalid("header " + line.name() + " is set by the transport");
  }
  return std::nullopt;
}

}  // namespace

std::optional<error> check_request(const request& what) {
  if (!is_token(what.method())) return invalid("the method is not a token");
  if (!is_http_url(what.url())) return invalid("the URL does not begin with http:// or https://");
  for (const char c : what.url()) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) {
      return invalid("the URL holds a space or a control character; encode it as %XX");
    }
  }
  std::size_t number = 0;
  for (const header& line : what.headers()) {
    if (auto wrong = check_header(line, ++number)) return wrong;
  }
  return std::nullopt;
}

}  // namespace sluice::http
