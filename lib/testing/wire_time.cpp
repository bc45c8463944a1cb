#include "testing/wire_time.hpp"

#include <algorithm>
#include <cstdint>

namespace sluice::testing {
namespace {

std::string padded(unsigned value) { return (value < 10 ? "0" : "") + std::to_string(value); }

}  // namespace

std::string decimal_seconds(duration length) {
  const auto milliseconds = std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(length).count(), 0);
  auto text = std::to_string(milliseconds / 1000);
  if (const auto rest = milliseconds % 1000; rest != 0) {
    const auto digits = std::to_string(1000 + rest).substr(1);
    text += '.' + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  return text;
}

std::string go_duration(duration length) {
  using namespace std::chrono;
  if (length <= duration::zero()) return "0s";
  if (length < seconds(1)) return std::to_string(ceil<milliseconds>(length).count()) + "ms";
  const auto whole_hours = floor<hours>(length);
  const auto whole_minutes = floor<minutes>(length - whole_hours);
  std::string text;
  if (whole_hours.count() > 0) text += std::to_string(whole_hours.count()) + "h";
  if (!text.empty() || whole_minutes.count() > 0) text += std::to_string(whole_minutes.count()) + "m";
  return text + decimal_seconds(length - whole_hours - whole_minutes) + "s";
}

std::string rfc3339(std::chrono::system_clock::time_point when) {
  using namespace std::chrono;
  const auto whole = ceil<seconds>(when);
  const auto day = floor<days>(whole);
  const year_month_day date(day);
  const hh_mm_ss time(whole - day);
  return std::to_string(static_cast<int>(date.year())) + "-" + padded(static_cast<unsigned>(date.month())) + "-" +
         padded(static_cast<unsigned>(date.day())) + "T" + padded(static_cast<unsigned>(time.hours().count())) + ":" +
         padded(static_cast<unsigned>(time.minutes().count())) + ":" +
         padded(static_cast<unsigned>(time.seconds().count())) + "Z";
}

}  // namespace sluice::testing
