#include "llm/retry_after.hpp"

#include "llm/header_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace sluice::llm {

namespace {

using std::chrono::seconds;

// Longer waits than this are all the same to anybody.
constexpr std::int64_t most_seconds = std::int64_t{10} * 365 * 86'400;

std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// A decimal number with an optional fraction, in units of `unit`.
std::optional<duration> number(std::string_view text, duration unit) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string_view fraction = point == text.npos ? std::string_view{} : text.substr(point + 1);
  const auto digits = [](std::string_view part) { return part.find_first_not_of("0123456789") == part.npos; };
  if (!digits(whole) || !digits(fraction) || (whole.empty() && fraction.empty())) return std::nullopt;

  const std::int64_t most = most_seconds * (duration(seconds(1)) / unit);
  std::int64_t count = 0;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), count);
  if (parsed.ec == std::errc::result_out_of_range || count > most) count = most;
  duration length = unit * count;
  duration digit = unit;
  for (const char c : fraction.substr(0, 9)) {
    digit /= 10;
    length += digit * (c - '0');
  }
  return length;
}

std::optional<int> small_number(std::string_view text) {
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form that servers may send today.
std::optional<std::chrono::sys_seconds> date(std::string_view text) {
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  if (text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':') return std::nullopt;
  const auto* const month = std::find(months.begin(), months.end(), text.substr(8, 3));
  const auto day = small_number(text.substr(5, 2));
  const auto year = small_number(text.substr(12, 4));
  const auto hour = small_number(text.substr(17, 2));
  const auto minute = small_number(text.substr(20, 2));
  const auto second = small_number(text.substr(23, 2));
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day when{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(month - months.begin()) + 1),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!when.ok()) return std::nullopt;
  return std::chrono::sys_days(when) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) + seconds(*second);
}

}  // namespace

std::optional<duration> retry_after(const std::vector<http::header>& headers) {
  if (auto wait = number(trimmed(header_value(headers, "retry-after-ms")), std::chrono::milliseconds(1))) return wait;
  const std::string_view text = trimmed(header_value(headers, "retry-after"));
  if (auto wait = number(text, seconds(1))) return wait;
  const auto until = date(text);
  const auto now = date(trimmed(header_value(headers, "date")));
  if (!until || !now) return std::nullopt;
  const auto wait = std::clamp<seconds>(*until - *now, seconds(0), seconds(most_seconds));
  return duration(wait);
}

}  // namespace sluice::llm
