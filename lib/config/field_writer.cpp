#include "config/field_writer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::config {
namespace {

std::string quoted(const std::string& name) {
  using nlohmann::json;
  return json(name).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void field_writer::fraction(std::string_view name, double value) {
  constexpr std::size_t longest = 32;
  std::array<char, longest> digits{};
  const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  add(name, std::string(digits.data(), end));
}

void field_writer::time(std::string_view name, duration value) {
  constexpr std::int64_t nanoseconds = 1'000'000;
  constexpr std::size_t places = 6;
  std::string written = std::to_string(value.count() / nanoseconds);
  if (const std::int64_t rest = value.count() % nanoseconds; rest != 0) {
    const std::string digits = std::to_string(rest < 0 ? -rest : rest);
    written += '.' + std::string(places - digits.size(), '0') + digits;
    written.erase(written.find_last_not_of('0') + 1);
    // Minus zero is zero before the point.
    if (value.count() < 0 && written.front() != '-') written.insert(0, 1, '-');
  }
  add(name, std::move(written));
}

std::string field_writer::text(std::size_t indent) const { return text_of(parts_, indent); }

std::string field_writer::text_of(const std::vector<entry>& parts, std::size_t indent) {
  const bool plain = std::all_of(parts.begin(), parts.end(), [](const entry& each) { return !each.value.empty(); });
  const std::string line = plain ? std::string() : '\n' + std::string(2 * (indent + 1), ' ');
  std::string written = "{";
  for (const entry& each : parts) {
    written += &each == parts.data() ? line : (plain ? ", " : "," + line);
    written += quoted(each.name) + ": " + (each.value.empty() ? text_of(each.inside, indent + 1) : each.value);
  }
  if (!plain) written += '\n' + std::string(2 * indent, ' ');
  return written + '}';
}

}  // namespace sluice::config
