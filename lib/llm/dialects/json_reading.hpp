/// \file
/// Reading JSON on demand with error codes, leniently where servers differ.
#pragma once

#include "llm/dialects/surrogate_seam.hpp"

#include <simdjson.h>

#include <charconv>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::llm {

/// A member's name: as it stands there, unless it has escapes.
inline simdjson::error_code read_key(simdjson::ondemand::field& from, std::string_view& into) {
  // That the string is closed has been found out before any of it is read.
  const char* const start = from.key().raw();
  const char* end = start;
  while (*end != '"' && *end != '\\') ++end;
  into = std::string_view(start, static_cast<std::size_t>(end - start));
  if (*end == '"') return simdjson::SUCCESS;
  const auto error = from.unescaped_key().get(into);
  if (error != simdjson::STRING_ERROR) return error;
  for (; *end != '"'; ++end) {
    if (*end == '\\') ++end;
  }
  // Half a surrogate pair: such a name is nobody's here, and may stand as it is.
  into = std::string_view(start, static_cast<std::size_t>(end - start));
  return unescape_halves(into) ? simdjson::SUCCESS : error;
}

/// Calls `visit(key, value)` for each member, in order, until one gives an error.
template <typename Visit>
simdjson::error_code each_member(simdjson::ondemand::object from, Visit visit) {
  for (auto member : from) {
    simdjson::ondemand::field field;
    if (const auto error = std::move(member).get(field)) return error;
    std::string_view key;
    if (const auto error = read_key(field, key)) return error;
    if (const auto error = visit(key, field.value())) return error;
  }
  return simdjson::SUCCESS;
}

/// Calls `visit(value)` for each element, in order, until one gives an error.
template <typename Visit>
simdjson::error_code each_element(simdjson::ondemand::array from, Visit visit) {
  for (auto element : from) {
    simdjson::ondemand::value value;
    if (const auto error = element.get(value)) return error;
    if (const auto error = visit(value)) return error;
  }
  return simdjson::SUCCESS;
}

/// Calls `visit(object)` when `from` is one; anything else is passed over.
template <typename Visit>
simdjson::error_code if_object(simdjson::ondemand::value from, Visit visit) {
  simdjson::ondemand::json_type type{};
  if (const auto error = from.type().get(type)) return error;
  if (type != simdjson::ondemand::json_type::object) return simdjson::SUCCESS;
  simdjson::ondemand::object object;
  if (const auto error = from.get_object().get(object)) return error;
  return visit(object);
}

/// The same for arrays.
template <typename Visit>
simdjson::error_code if_array(simdjson::ondemand::value from, Visit visit) {
  simdjson::ondemand::json_type type{};
  if (const auto error = from.type().get(type)) return error;
  if (type != simdjson::ondemand::json_type::array) return simdjson::SUCCESS;
  simdjson::ondemand::array array;
  if (const auto error = from.get_array().get(array)) return error;
  return visit(array);
}

/// Reads strings, where they stand when they have no escapes.
class text_reader {
 public:
  /// Reads a string; anything else leaves `into` as it is. A half of a surrogate pair without its other half stays a
  /// half, for `surrogate_seam`. The text lives as long as the document, and no longer than until `forget`.
  simdjson::error_code piece(simdjson::ondemand::value from, std::string_view& into) {
    simdjson::ondemand::json_type type{};
    if (const auto error = from.type().get(type)) return error;
    if (type != simdjson::ondemand::json_type::string) return simdjson::SUCCESS;
    std::string_view raw = from.raw_json_token();
    raw = raw.substr(1, raw.find_last_of('"') - 1);
    if (raw.find('\\') == raw.npos) {
      into = raw;
      return simdjson::SUCCESS;
    }
    const auto error = from.get_string().get(into);
    if (error != simdjson::STRING_ERROR) return error;
    auto halves = unescape_halves(raw);
    if (!halves) return error;
    into = made_.emplace_back(*std::move(halves));
    return simdjson::SUCCESS;
  }

  /// The same for what is whole: lone halves become U+FFFD.
  simdjson::error_code whole(simdjson::ondemand::value from, std::string_view& into) {
    const auto made_before = made_.size();
    if (const auto error = piece(from, into)) return error;
    if (made_.size() == made_before) return simdjson::SUCCESS;
    std::string mended;
    surrogate_seam seam;
    seam.append(mended, into);
    seam.end(mended);
    into = made_.back() = std::move(mended);
    return simdjson::SUCCESS;
  }

  void forget() noexcept { made_.clear(); }

 private:
  std::deque<std::string> made_;
};

/// Reads a number, or a string that is one; anything else leaves `into` as it is.
inline simdjson::error_code read_number(simdjson::ondemand::value from, std::optional<double>& into) {
  simdjson::ondemand::json_type type{};
  if (const auto error = from.type().get(type)) return error;
  if (type == simdjson::ondemand::json_type::number) {
    double number = 0;
    if (const auto error = from.get_double().get(number)) return error;
    into = number;
  } else if (type == simdjson::ondemand::json_type::string) {
    std::string_view digits;
    if (const auto error = from.get_string().get(digits)) return error;
    double number = 0;
    const char* const end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end) into = number;
  }
  return simdjson::SUCCESS;
}

/// `number` as a whole one, held at 0 below (and when it is none) and at 2^53 above.
inline std::int64_t count_of(double number) noexcept {
  constexpr double most = 9'007'199'254'740'992.0;
  if (!(number > 0)) return 0;
  return static_cast<std::int64_t>(number < most ? number : most);
}

/// Reads a count: an integer, a number such as `12.0`, or a string of digits. Held at 0 below and at 2^53 above;
/// anything else leaves `into` as it is.
inline simdjson::error_code read_count(simdjson::ondemand::value from, std::optional<std::int64_t>& into) {
  std::optional<double> number;
  if (const auto error = read_number(from, number)) return error;
  if (number) into = count_of(*number);
  return simdjson::SUCCESS;
}

/// The same for what cannot be negative: what is leaves `into` as it is.
inline simdjson::error_code read_amount(simdjson::ondemand::value from, std::optional<std::int64_t>& into) {
  std::optional<double> number;
  if (const auto error = read_number(from, number)) return error;
  if (number && *number >= 0) into = count_of(*number);
  return simdjson::SUCCESS;
}

}  // namespace sluice::llm
