#include "figures.hpp"

#include <array>
#include <cstdio>

namespace contention {
namespace {

template <typename Value>
std::string printed(const char* format, Value value) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

std::string with_commas(std::int64_t value) {
  auto text = std::to_string(value);
  const std::size_t digits = text.front() == '-' ? 1 : 0;
  for (auto at = text.size(); at > digits + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string in_seconds(double value) { return printed("%.2f s", value); }

std::string in_percent(double share) { return printed("%.1f %%", share * 100); }

std::string one_digit(double value) { return printed("%.1f", value); }

}  // namespace contention
