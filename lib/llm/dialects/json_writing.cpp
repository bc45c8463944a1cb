#include "llm/dialects/json_writing.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace sluice::llm {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// What may stand between quotes as it is, without a look at what follows.
constexpr bool is_plain(char c) noexcept {
  return static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 0x80 && c != '"' && c != '\\';
}

constexpr std::uint64_t everywhere(unsigned char byte) noexcept { return 0x0101'0101'0101'0101U * byte; }

// Whether all eight bytes are plain. A borrow can only make a byte look less plain than it is, never more.
constexpr bool all_plain(std::uint64_t word) noexcept {
  const auto holds_zero = [](std::uint64_t bytes) { return (bytes - everywhere(1)) & ~bytes; };
  const std::uint64_t marked =
      word | (word - everywhere(' ')) | holds_zero(word ^ everywhere('"')) | holds_zero(word ^ everywhere('\\'));
  return (marked & everywhere(0x80)) == 0;
}

std::size_t plain_length(std::string_view text) noexcept {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (!all_plain(word)) break;
  }
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

struct utf8_sequence {
  std::size_t length;
  bool whole;
};

// The sequence that `text` begins with, or as much of it as could have become one (Unicode, table 3-7).
utf8_sequence sequence_at(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t at = 1; at < length; ++at) {
    const auto next = at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    if (next < least || next > most) return {at, false};
    least = 0x80;
    most = 0xBF;
  }
  return {length, true};
}

void add_escape(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u00";
  out += digits[static_cast<unsigned char>(c) >> 4];
  out += digits[static_cast<unsigned char>(c) & 0xF];
}

void add_text(std::string& out, std::string_view text) {
  out += '"';
  for (;;) {
    const std::size_t plain = plain_length(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      add_escape(out, text[0]);
      text.remove_prefix(1);
    } else {
      const utf8_sequence next = sequence_at(text);
      out.append(next.whole ? text.substr(0, next.length) : replacement);
      text.remove_prefix(next.length);
    }
  }
  out += '"';
}

template <typename Number>
void add_number(std::string& out, Number value) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void add(std::string& out, const json_value& value) {
  using kind = json_value::value_t;
  switch (value.type()) {
    case kind::object: {
      char before = '{';
      for (const auto& [name, member] : value.get_ref<const json_value::object_t&>()) {
        out += std::exchange(before, ',');
        add_text(out, name);
        out += ':';
        add(out, member);
      }
      out += before == '{' ? "{}" : "}";
      return;
    }
    case kind::array: {
      char before = '[';
      for (const json_value& one : value) {
        out += std::exchange(before, ',');
        add(out, one);
      }
      out += before == '[' ? "[]" : "]";
      return;
    }
    case kind::string: return add_text(out, value.get_ref<const std::string&>());
    case kind::number_integer: return add_number(out, value.get<std::int64_t>());
    case kind::number_unsigned: return add_number(out, value.get<std::uint64_t>());
    case kind::boolean: out += value.get<bool>() ? "true" : "false"; return;
    case kind::number_float: out += value.dump(); return;
    case kind::null:
    case kind::binary:
    case kind::discarded: break;
  }
  out += "null";
}

}  // namespace

std::string written(const json_value& value) {
  std::string text;
  add(text, value);
  return text;
}

}  // namespace sluice::llm
