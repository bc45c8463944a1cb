/// \file
/// `csv_line`: one line of a file of comma-separated fields, taken apart from left to right; what is wrong is said with
/// file, line and field.
#pragma once

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice::sim {

/// All of `text` as a number; nothing when it is not one.
template <typename Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The first thing that is wrong is kept; after it, fields read as zero.
class csv_line {
 public:
  csv_line(std::string_view text, const std::string& file, std::size_t number)
      : rest_(text), file_(&file), number_(number) {}

  [[nodiscard]] std::string_view take() {
    const auto comma = rest_.find(',');
    const auto field = rest_.substr(0, comma);
    rest_.remove_prefix(comma == std::string_view::npos ? rest_.size() : comma + 1);
    return field;
  }

  template <typename Number>
  [[nodiscard]] Number take_number(std::string_view field, Number least, Number most) {
    const std::string_view text = take();
    const auto value = number_of<Number>(text);
    if (value && *value >= least && *value <= most) return *value;
    wrong(std::string(field) + " '" + std::string(text) + "' is not a number from " + text_of(least) + " to " +
          text_of(most));
    return Number{};
  }

  void wrong(const std::string& what) {
    if (failure_) return;
    failure_.emplace(errc::invalid_argument, *file_ + ":" + std::to_string(number_) + ": " + what);
  }

  [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  template <typename Number>
  static std::string text_of(Number value) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
  }

  std::string_view rest_;
  const std::string* file_;
  std::size_t number_;
  std::optional<error> failure_;
};

}  // namespace sluice::sim
