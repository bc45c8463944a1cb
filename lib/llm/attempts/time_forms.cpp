#include "llm/attempts/time_forms.hpp"

#include "http/ascii.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace sluice::llm {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool digits(std::string_view text) noexcept { return text.find_first_not_of("0123456789") == text.npos; }

/// What is left to read of a text; a step that does not fit fails all that follow.
class scanner {
 public:
  explicit scanner(std::string_view text) noexcept : rest_(text) {}

  scanner& skip(std::string_view wanted) noexcept {
    if (rest_.starts_with(wanted)) {
      rest_.remove_prefix(wanted.size());
    } else {
      holds_ = false;
    }
    return *this;
  }
  scanner& skip_any_of(std::string_view wanted) noexcept {
    holds_ = holds_ && !rest_.empty() && wanted.find(rest_.front()) != wanted.npos;
    if (holds_) rest_.remove_prefix(1);
    return *this;
  }
  /// Exactly so many digits.
  scanner& number(std::size_t size, int& into) noexcept {
    const std::string_view part = take(size);
    holds_ = holds_ && part.size() == size && digits(part);
    if (holds_) std::from_chars(part.data(), part.data() + part.size(), into);
    return *this;
  }
  [[nodiscard]] std::string_view take(std::size_t size) noexcept {
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(part.size());
    return part;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
  [[nodiscard]] bool holds() const noexcept { return holds_; }
  [[nodiscard]] bool ends() const noexcept { return holds_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool holds_ = true;
};

class fields {
 public:
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;

  [[nodiscard]] std::optional<civil_time> time() const {
    const std::chrono::year_month_day when{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!when.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
    return std::chrono::sys_days(when) + std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second);
  }
};

int month_named(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return static_cast<int>(std::find(months.begin(), months.end(), name) - months.begin()) + 1;
}

scanner& clock(scanner& from, fields& into) noexcept {
  return from.number(2, into.hour).skip(":").number(2, into.minute).skip(":").number(2, into.second);
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<civil_time> read_imf(std::string_view text) {
  fields read;
  scanner from(text.substr(std::min<std::size_t>(3, text.size())));
  from.skip(", ").number(2, read.day).skip(" ");
  read.month = month_named(from.take(3));
  from.skip(" ").number(4, read.year).skip(" ");
  return clock(from, read).skip(" GMT").ends() ? read.time() : std::nullopt;
}

// "Sunday, 06-Nov-94 08:49:37 GMT"
std::optional<civil_time> read_rfc850(std::string_view text) {
  fields read;
  scanner from(text.substr(std::min(text.find(','), text.size())));
  from.skip(", ").number(2, read.day).skip("-");
  read.month = month_named(from.take(3));
  from.skip("-").number(2, read.year).skip(" ");
  read.year += read.year < 70 ? 2000 : 1900;
  return clock(from, read).skip(" GMT").ends() ? read.time() : std::nullopt;
}

// "Sun Nov  6 08:49:37 1994"
std::optional<civil_time> read_asctime(std::string_view text) {
  fields read;
  scanner from(text.substr(std::min<std::size_t>(3, text.size())));
  from.skip(" ");
  read.month = month_named(from.take(3));
  from.skip(" ");
  if (from.rest().starts_with(' ')) {
    from.skip(" ").number(1, read.day);
  } else {
    from.number(2, read.day);
  }
  clock(from.skip(" "), read);
  return from.skip(" ").number(4, read.year).ends() ? read.time() : std::nullopt;
}

std::optional<duration> unit_named(std::string_view name) noexcept {
  struct unit {
    std::string_view name;
    duration length;
  };
  constexpr std::array<unit, 8> units = {{{"d", std::chrono::hours(24)},
                                          {"h", std::chrono::hours(1)},
                                          {"m", std::chrono::minutes(1)},
                                          {"s", seconds(1)},
                                          {"ms", milliseconds(1)},
                                          {"us", std::chrono::microseconds(1)},
                                          {"\xC2\xB5s", std::chrono::microseconds(1)},
                                          {"ns", duration(1)}}};
  for (const unit& each : units) {
    if (http::equal_ignoring_case(each.name, name)) return each.length;
  }
  return std::nullopt;
}

}  // namespace

std::optional<duration> read_number(std::string_view text, duration unit) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point == text.npos ? std::string_view{} : text.substr(point + 1);
  if (!digits(whole) || !digits(fraction) || (whole.empty() && fraction.empty())) return std::nullopt;

  const std::int64_t most = longest_wait / unit;
  std::int64_t count = 0;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), count);
  if (parsed.ec == std::errc::result_out_of_range || count >= most) return longest_wait;
  duration length = unit * count;
  duration digit = unit;
  for (const char c : fraction.substr(0, 9)) {
    digit /= 10;
    length += digit * (c - '0');
  }
  return length;
}

std::optional<duration> read_length(std::string_view text) {
  if (text.empty()) return std::nullopt;
  duration total{};
  while (!text.empty()) {
    const std::size_t number = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::size_t end = std::min(text.find_first_of("0123456789.", number), text.size());
    const auto unit = unit_named(text.substr(number, end - number));
    if (!unit) return std::nullopt;
    const auto part = read_number(text.substr(0, number), *unit);
    if (!part) return std::nullopt;
    total = std::min(total + *part, longest_wait);
    text.remove_prefix(end);
  }
  return total;
}

std::optional<civil_time> read_http_date(std::string_view text) {
  for (const auto read : {read_imf, read_rfc850, read_asctime}) {
    if (const auto when = read(text)) return when;
  }
  return std::nullopt;
}

std::optional<civil_time> read_rfc3339(std::string_view text) {
  fields read;
  scanner from(text);
  from.number(4, read.year).skip("-").number(2, read.month).skip("-").number(2, read.day).skip_any_of("Tt ");
  auto when = clock(from, read).holds() ? read.time() : std::nullopt;
  if (!when) return std::nullopt;
  if (from.rest().starts_with('.')) {
    const std::size_t end = std::min(from.rest().find_first_not_of("0123456789", 1), from.rest().size());
    const std::string_view fraction = from.take(end);
    if (fraction.size() < 2) return std::nullopt;
    *when += std::chrono::duration_cast<milliseconds>(*read_number(fraction, seconds(1)));
  }
  if (from.rest() == "Z" || from.rest() == "z") return when;
  const int sign = from.rest().starts_with('-') ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  if (!from.skip_any_of("+-").number(2, hours).skip(":").number(2, minutes).ends()) return std::nullopt;
  if (hours > 23 || minutes > 59) return std::nullopt;
  return *when - sign * (std::chrono::hours(hours) + std::chrono::minutes(minutes));
}

std::optional<civil_time> read_epoch(std::string_view text) {
  const std::string_view whole = text.substr(0, text.find('.'));
  if (whole.empty() || !digits(whole) || !read_number(text, seconds(1))) return std::nullopt;
  std::int64_t count = 0;
  if (std::from_chars(whole.data(), whole.data() + whole.size(), count).ec != std::errc{}) return std::nullopt;
  // From September 2001 to the year 5138, either way.
  constexpr std::int64_t first = 1'000'000'000;
  constexpr std::int64_t beyond = 100 * first;
  if (count >= first && count < beyond) return civil_time(seconds(count));
  if (count >= first * 1'000 && count < beyond * 1'000) return civil_time(milliseconds(count));
  return std::nullopt;
}

duration between(civil_time from, civil_time to) noexcept {
  if (to <= from) return {};
  const auto most = std::chrono::duration_cast<milliseconds>(longest_wait);
  return std::min<milliseconds>(to - from, most);
}

}  // namespace sluice::llm
