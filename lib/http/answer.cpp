#include "http/answer.hpp"

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
  if (head_size_ > max_head) return verdict::refused;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty()) {
    has_head_ = status_ >= 200;
    return verdict::taken;
  }
  if (line.starts_with("HTTP/")) {
    head_.clear();
    status_ = status_of(line);
    bad_status_ = status_ < 100;
    return bad_status_ ? verdict::refused : verdict::taken;
  }
  head_.append(line) += '\n';
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
  if (bytes.size() > max_body_ - received_) return verdict::refused;
  if (!body_.empty() && body_.size() + bytes.size() > buffer_) return verdict::full;
  body_.append(bytes);
  received_ += bytes.size();
  return verdict::taken;
}

std::string answer::refusal() const {
  if (bad_status_) return "the answer's first line has no status";
  if (!has_head_) return "the answer's head is longer than " + grouped(max_head) + " bytes";
  return "the answer's body is longer than max_body (" + grouped(max_body_) + " bytes)";
}

}  // namespace sluice::http
