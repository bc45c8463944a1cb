#include "llm/attempts/retry_after.hpp"

#include "llm/attempts/header_value.hpp"
#include "llm/attempts/time_forms.hpp"
#include "llm/trimmed.hpp"

#include <chrono>
#include <string_view>

namespace sluice::llm {

std::optional<duration> retry_after(const std::vector<http::header>& headers) {
  const std::string_view exact = trimmed(header_value(headers, "retry-after-ms"));
  if (auto wait = read_number(exact, std::chrono::milliseconds(1))) return wait;
  const std::string_view text = trimmed(header_value(headers, "retry-after"));
  if (auto wait = read_number(text, std::chrono::seconds(1))) return wait;
  const auto until = read_http_date(text);
  const auto now = read_http_date(trimmed(header_value(headers, "date")));
  if (!until || !now) return std::nullopt;
  return between(*now, *until);
}

}  // namespace sluice::llm
