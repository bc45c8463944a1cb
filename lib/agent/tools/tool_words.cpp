#include "agent/tools/tool_words.hpp"

#include "agent/loop/what_is_left.hpp"
#include "core/grouped.hpp"
#include "llm/errors/quote.hpp"

#include <chrono>
#include <cstdint>

namespace sluice::agent::detail {

namespace {

/// The place of the last character's first byte, when `at` is within one; never more than three bytes back.
std::size_t whole_characters(std::string_view text, std::size_t at) noexcept {
  std::size_t end = at;
  while (end > 0 && at - end < 3 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  // What is no UTF-8 is cut where it is.
  return (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U ? at : end;
}

}  // namespace

std::string_view given_arguments(const llm::tool_call& call) noexcept {
  return call.arguments.empty() ? std::string_view("{}") : std::string_view(call.arguments);
}

std::string shown(std::string_view text) {
  constexpr std::size_t enough = 80;
  if (text.size() <= enough) return llm::quote(text, {});
  return llm::quote(text.substr(0, whole_characters(text, enough)), {}) + "...";
}

std::string time_limit(duration limit) {
  if (limit >= std::chrono::minutes(2)) return rounded(limit);
  const auto whole = std::chrono::floor<std::chrono::seconds>(limit);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(limit - whole).count();
  std::string said = std::to_string(whole.count());
  if (rest != 0) {
    std::string digits = std::to_string(rest);
    digits.insert(0, 9 - digits.size(), '0');
    said += '.' + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  return said + " s";
}

void cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  const auto whole = static_cast<std::int64_t>(text.size());
  const std::size_t kept = whole_characters(text, most);
  text.resize(kept);
  text += "\n[cut: the first " + grouped(static_cast<std::int64_t>(kept)) + " of " + grouped(whole) + " bytes]";
}

}  // namespace sluice::agent::detail
