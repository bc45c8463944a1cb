#include "config/field_values.hpp"

#include <sluice/core/cost.hpp>

#include <charconv>
#include <limits>
#include <string>

namespace sluice::config {
namespace {

std::string shown(const json_field& field) {
  const std::string text = shortened(field.written);
  return field.what == json_field::kind::text ? '"' + text + '"' : text;
}

/// The parser gives what is beyond 64 bits, and all that is written with a point or an exponent, as a fraction.
bool beyond_whole_numbers(const json_field& field) {
  return field.what == json_field::kind::fraction && field.written.find('.') == std::string::npos;
}

field_fault too_much(const json_field& field, std::int64_t greatest) {
  return wrong(field, "must be at most " + std::to_string(greatest) + ", in plain digits, is " + shown(field));
}

}  // namespace

error wrong_type(const json_field& field, std::string_view wanted) {
  return wrong(field, "must be " + std::string(wanted) + ", is " + shown(field));
}

field_fault read_flag(const json_field& field, bool& into) {
  if (field.what != json_field::kind::boolean) return wrong_type(field, "true or false");
  into = field.truth;
  return {};
}

field_fault read_whole(const json_field& field, std::int64_t least, std::int64_t greatest, std::int64_t& into) {
  const bool beyond = beyond_whole_numbers(field);
  if (field.what != json_field::kind::whole && !beyond) return wrong_type(field, "a whole number");
  const bool below = beyond ? field.written.front() == '-' : field.number < least;
  if (below && least == 0) return wrong(field, "must not be negative, is " + shown(field));
  if (below) return wrong(field, "must be at least " + std::to_string(least) + ", is " + shown(field));
  if (beyond || field.number > greatest) return too_much(field, greatest);
  into = field.number;
  return {};
}

field_fault read_amount(const json_field& field, std::int64_t& into) {
  if (field.what == json_field::kind::text) {
    if (field.written != "unlimited") return wrong_type(field, "a whole number or \"unlimited\"");
    into = unlimited;
    return {};
  }
  return read_whole(field, 0, std::numeric_limits<std::int64_t>::max(), into);
}

field_fault read_fraction(const json_field& field, double& into) {
  if (field.what != json_field::kind::whole && field.what != json_field::kind::fraction) {
    return wrong_type(field, "a number");
  }
  const char* const end = field.written.data() + field.written.size();
  const auto [stopped, fault] = std::from_chars(field.written.data(), end, into);
  if (fault != std::errc() || stopped != end) return wrong(field, "does not fit, is " + shown(field));
  return {};
}

field_fault read_milliseconds(const json_field& field, duration& into) {
  constexpr std::int64_t nanoseconds = 1'000'000;
  constexpr std::int64_t longest = duration::max().count() / nanoseconds;
  const bool number = field.what == json_field::kind::whole || field.what == json_field::kind::fraction;
  if (!number) return wrong_type(field, "a number of milliseconds");
  if (field.written.front() == '-' && field.written.find_first_not_of("-0.") != std::string::npos) {
    return wrong(field, "must not be negative, is " + shown(field));
  }

  json_field whole = field;
  std::int64_t rest = 0;
  if (const auto point = field.written.find('.'); point != std::string::npos) {
    std::string digits = field.written.substr(point + 1);
    constexpr std::size_t places = 6;
    if (digits.size() > places || digits.find_first_not_of("0123456789") != std::string::npos) {
      return wrong(field, "must have at most 6 digits after the point, and no exponent, is " + shown(field));
    }
    digits.resize(places, '0');
    std::from_chars(digits.data(), digits.data() + digits.size(), rest);
    // The whole part is read apart, since no binary fraction holds what stands here exactly.
    const std::string before = field.written.substr(0, point);
    const auto read = std::from_chars(before.data(), before.data() + before.size(), whole.number);
    if (read.ec != std::errc()) return too_much(field, longest);
    whole.what = json_field::kind::whole;
  }
  std::int64_t milliseconds = 0;
  if (field_fault bad = read_whole(whole, 0, longest, milliseconds)) return bad;
  const std::int64_t left = duration::max().count() - milliseconds * nanoseconds;
  if (rest > left) return too_much(field, longest);
  into = duration(milliseconds * nanoseconds + rest);
  return {};
}

}  // namespace sluice::config
