#include "http/answer.hpp"

#include "http/ascii.hpp"
#include "http/curl_error.hpp"

#include <charconv>

namespace sluice::http {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

int status_of(std::string_view line) noexcept {
  const std::size_t space = line.find(' ');
  if (space == line.npos) return 0;
  const std::string_view digits = line.substr(space + 1, 3);
  int status = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), status);
  return wrong == std::errc{} && end == digits.data() + 3 ? status : 0;
}

}  // namespace

answer::verdict answer::add_head_line(std::string_view line) {
  if (has_head_) return verdict::taken;
  head_size_ += line.size();
  if (head_size_ > bounds_.max_head) return refuse(fault::long_head);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty()) return end_head();
  if (line.starts_with("HTTP/")) return begin_head(line);
  head_.append(line) += '\n';
  return verdict::taken;
}

answer::verdict answer::begin_head(std::string_view line) {
  head_.clear();
  status_ = status_of(line);
  if (status_ < 100) return refuse(fault::no_status);
  if (bounds_.only_http2 && !line.starts_with("HTTP/2")) return refuse(fault::other_version);
  return verdict::taken;
}

answer::verdict answer::end_head() {
  constexpr int proxy_authentication_required = 407;
  if (status_ == proxy_authentication_required) {
    // Servers that misuse the number do not send what a proxy must.
    for (const header& line : headers()) {
      if (equal_ignoring_case(line.name(), "proxy-authenticate")) return refuse(fault::of_proxy);
    }
  }
  has_head_ = status_ >= 200;
  return verdict::taken;
}

std::vector<header> answer::headers() const {
  std::vector<header> lines;
  for (std::string_view rest = head_; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t colon = line.find(':');
    if (blanks.find(line.front()) != blanks.npos) {
      // A folded line belongs to the one before it.
      if (lines.empty()) continue;
      const header last = std::move(lines.back());
      lines.pop_back();
      lines.emplace_back(last.name(), last.value() + ' ' + std::string(trimmed(line)));
    } else if (colon != line.npos) {
      lines.emplace_back(std::string(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1))));
    }
  }
  return lines;
}

answer::verdict answer::add_body(std::string_view bytes) {
  if (bytes.size() > bounds_.max_body - received_) return refuse(fault::long_body);
  if (!body_.empty() && body_.size() + bytes.size() > bounds_.buffer) return verdict::full;
  body_.append(bytes);
  received_ += bytes.size();
  return verdict::taken;
}

std::string answer::refusal() const {
  switch (fault_) {
    case fault::no_status: return "the answer's first line has no status";
    case fault::other_version: return "the server does not speak HTTP/2, which curl_options::version insists on";
    case fault::of_proxy: return std::string(proxy_wants_credentials);
    case fault::long_head:
      return "the answer's head is longer than curl_options::max_header_bytes (" + grouped(bounds_.max_head) + ")";
    case fault::long_body: return "the answer's body is longer than max_body (" + grouped(bounds_.max_body) + " bytes)";
    case fault::none: break;
  }
  return {};
}

errc answer::refusal_kind() const noexcept {
  switch (fault_) {
    case fault::long_head:
    case fault::long_body: return errc::too_large;
    case fault::of_proxy: return errc::invalid_configuration;
    default: return errc::protocol_error;
  }
}

}  // namespace sluice::http
