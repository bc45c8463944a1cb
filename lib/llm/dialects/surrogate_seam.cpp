#include "llm/dialects/surrogate_seam.hpp"

#include <charconv>
#include <cstddef>

namespace sluice::llm {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr std::size_t half_size = 3;

// UTF-8's pattern, which takes halves as well.
void put(std::string& to, unsigned code) {
  const auto byte = [&to](unsigned value) { to += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

bool is_high(unsigned unit) noexcept { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(unsigned unit) noexcept { return unit >= 0xDC00 && unit < 0xE000; }

// Where the next half stands at or after `from`.
std::size_t find_half(std::string_view text, std::size_t from) noexcept {
  for (;;) {
    const std::size_t at = text.find('\xED', from);
    if (at == text.npos || text.size() - at < half_size) return text.npos;
    if (static_cast<unsigned char>(text[at + 1]) >= 0xA0) return at;
    from = at + 1;
  }
}

unsigned half_at(std::string_view text, std::size_t at) noexcept {
  const auto low_bits = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[i])) & 0x3F;
  };
  return 0xD000 | (low_bits(at + 1) << 6) | low_bits(at + 2);
}

}  // namespace

void surrogate_seam::append(std::string& to, std::string_view from) {
  if (from.empty()) return;
  std::size_t half = find_half(from, 0);
  if (high_ != 0 && half != 0) end(to);
  std::size_t done = 0;
  for (; half != from.npos; half = find_half(from, done)) {
    if (half != done) end(to);
    to.append(from, done, half - done);
    done = half + half_size;
    const unsigned unit = half_at(from, half);
    if (is_low(unit) && high_ != 0) {
      put(to, 0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00));
      high_ = 0;
      continue;
    }
    end(to);
    if (is_high(unit)) {
      high_ = unit;
    } else {
      to += replacement;
    }
  }
  if (done == from.size()) return;
  end(to);
  to.append(from, done);
}

void surrogate_seam::end(std::string& to) {
  if (high_ != 0) to += replacement;
  high_ = 0;
}

std::optional<std::string> unescape_halves(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (;;) {
    const std::size_t slash = raw.find('\\');
    text += raw.substr(0, slash);
    if (slash == raw.npos) return text;
    raw.remove_prefix(slash + 1);
    if (raw.empty()) return std::nullopt;
    const char what = raw.front();
    raw.remove_prefix(1);
    switch (what) {
      case '"':
      case '\\':
      case '/': text += what; break;
      case 'b': text += '\b'; break;
      case 'f': text += '\f'; break;
      case 'n': text += '\n'; break;
      case 'r': text += '\r'; break;
      case 't': text += '\t'; break;
      case 'u': {
        unsigned unit = 0;
        if (raw.size() < 4) return std::nullopt;
        const auto read = std::from_chars(raw.data(), raw.data() + 4, unit, 16);
        if (read.ec != std::errc{} || read.ptr != raw.data() + 4) return std::nullopt;
        put(text, unit);
        raw.remove_prefix(4);
        break;
      }
      default: return std::nullopt;
    }
  }
}

}  // namespace sluice::llm
