#include "llm/errors/secrets.hpp"

#include "http/ascii.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::llm {

namespace {

// What is shorter would be blotted out of ordinary words.
constexpr std::size_t least_told = 8;
constexpr std::size_t least_mixed = 20;
constexpr std::size_t least_hex = 32;

constexpr std::array<std::string_view, 9> telling = {"auth",     "key",        "token",   "secret",   "cookie",
                                                     "password", "credential", "session", "signature"};

bool tells_of_one(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = http::ascii_lower(c);
  return std::any_of(telling.begin(), telling.end(),
                     [&lower](std::string_view part) { return lower.find(part) != lower.npos; });
}

// Random characters, and no name or version.
bool looks_like_one(std::string_view word) noexcept {
  bool upper = false, lower = false, digit = false, hex = true;
  for (const char c : word) {
    const bool is_digit = c >= '0' && c <= '9';
    upper = upper || (c >= 'A' && c <= 'Z');
    lower = lower || (c >= 'a' && c <= 'z');
    digit = digit || is_digit;
    hex = hex && (is_digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
  }
  return digit && ((upper && lower && word.size() >= least_mixed) || (hex && word.size() >= least_hex));
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned char value = 0;
    const bool escaped =
        text[at] == '%' && text.size() - at > 2 &&
        std::from_chars(text.data() + at + 1, text.data() + at + 3, value, 16).ptr == text.data() + at + 3;
    plain += escaped ? static_cast<char>(value) : text[at];
    if (escaped) at += 2;
  }
  return plain;
}

class collection {
 public:
  void add(std::string_view found) {
    if (!found.empty() && std::find(all.begin(), all.end(), found) == all.end()) all.emplace_back(found);
  }

  // `value` as a whole, when its name tells; and each word of it that is one: `Bearer WORD`, `name=WORD; name="WORD"`.
  void add_of(std::string_view name, std::string_view value) {
    const bool told = tells_of_one(name);
    if (told && value.size() >= least_told) add(value);
    constexpr std::string_view between = " \t,;\"";
    while (!value.empty()) {
      std::string_view word = value.substr(0, value.find_first_of(between));
      value.remove_prefix(std::min(word.size() + 1, value.size()));
      // A sign at the end fills up what is encoded, and names nothing.
      const std::size_t sign = word.find('=');
      if (sign != word.npos && word.find_first_not_of('=', sign) != word.npos) word.remove_prefix(sign + 1);
      if ((told && word.size() >= least_told) || looks_like_one(word)) add(word);
    }
  }

  std::vector<std::string> all;
};

}  // namespace

secrets::secrets(const client_options& of) {
  collection found;
  found.add(of.api_key);
  for (const http::header& line : of.headers) found.add_of(line.name(), line.value());
  const std::string_view url = std::string_view(of.base_url).substr(0, of.base_url.find('#'));
  const std::size_t query = std::min(url.find('?'), url.size());
  for (std::string_view rest = url.substr(query); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view field = rest.substr(0, rest.find('&'));
    rest.remove_prefix(field.size());
    const std::size_t sign = std::min(field.find('='), field.size());
    const std::string_view value = field.substr(std::min(sign + 1, field.size()));
    found.add_of(field.substr(0, sign), value);
    found.add_of(field.substr(0, sign), decoded(value));
  }
  if (!found.all.empty()) all_ = std::make_shared<const std::vector<std::string>>(std::move(found.all));
}

std::size_t secrets::longest() const noexcept {
  std::size_t most = 0;
  if (all_) {
    for (const std::string& one : *all_) most = std::max(most, one.size());
  }
  return most;
}

secret_place secrets::find(std::string_view text, bool whole) const noexcept {
  secret_place first{text.size(), 0, false};
  if (!all_) return first;
  for (const std::string& one : *all_) {
    const secret_place place = find_secret(text, one);
    if (place.length == 0 || (place.partial && whole)) continue;
    const bool longer = place.begin == first.begin && place.length > first.length;
    if (place.begin < first.begin || longer) first = place;
  }
  return first;
}

}  // namespace sluice::llm
