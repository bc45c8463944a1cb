#include "agent/loop/what_is_left.hpp"

#include "core/grouped.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::agent::detail {

namespace {

// Two digits are enough to plan by.
std::int64_t two_digits(std::int64_t number) noexcept {
  std::int64_t step = 1;
  while (number / step >= 100) step *= 10;
  return number / step * step;
}

std::string with_unit(std::int64_t number, const char* unit) {
  return grouped(number) + " " + unit + (number == 1 ? "" : "s");
}

}  // namespace

std::string rounded(duration time) {
  const auto tenths =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::max(time, duration::zero())).count() / 100;
  const std::int64_t seconds = tenths / 10;
  if (seconds < 2) return std::to_string(seconds) + "." + std::to_string(tenths % 10) + " s";
  if (seconds < 10) return std::to_string(seconds) + " s";
  if (seconds < 120) return std::to_string(seconds / 5 * 5) + " s";
  if (seconds < 7'200) return with_unit(seconds / 60, "minute");
  return with_unit(seconds / 3'600, "hour");
}

std::string what_is_left(duration time, const spending& some) {
  std::vector<std::string> parts;
  if (time != duration::max()) parts.push_back(rounded(time));
  if (some.tokens != unlimited) parts.push_back(with_unit(two_digits(some.tokens), "token"));
  if (some.tool_calls != unlimited) parts.push_back(with_unit(some.tool_calls, "tool call"));
  if (parts.empty()) return {};
  std::string line = "about " + parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) line += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return line + " left";
}

}  // namespace sluice::agent::detail
