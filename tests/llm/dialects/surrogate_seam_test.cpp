#include "llm/dialects/surrogate_seam.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using sluice::llm::surrogate_seam;
using sluice::llm::unescape_halves;

namespace {

constexpr const char* high = "\xED\xA0\xBD";
constexpr const char* low = "\xED\xB8\x80";
constexpr const char* smile = "\xF0\x9F\x98\x80";
constexpr const char* lone = "\xEF\xBF\xBD";

std::string joined(const std::vector<std::string>& pieces) {
  surrogate_seam seam;
  std::string to;
  for (const std::string& piece : pieces) seam.append(to, piece);
  seam.end(to);
  return to;
}

std::string unescaped(std::string_view raw) { return unescape_halves(raw).value_or("(none)"); }

}  // namespace

TEST_CASE("halves that meet are one character, wherever they are cut") {
  CHECK(joined({std::string("a") + high + low + "b"}) == std::string("a") + smile + "b");
  CHECK(joined({std::string("a") + high, std::string(low) + "b"}) == std::string("a") + smile + "b");
  CHECK(joined({high, low}) == smile);
  CHECK(joined({high, "", low}) == smile);
  CHECK(joined({std::string(high) + low + high, std::string(low) + high, low}) == std::string(smile) + smile + smile);
}

TEST_CASE("a half that meets none is U+FFFD") {
  CHECK(joined({high}) == lone);
  CHECK(joined({low}) == lone);
  CHECK(joined({high, "a"}) == std::string(lone) + "a");
  CHECK(joined({high, std::string("a") + low}) == std::string(lone) + "a" + lone);
  CHECK(joined({high, high, low}) == std::string(lone) + smile);
  CHECK(joined({std::string(low) + high + high + "x" + low + low}) ==
        std::string(lone) + lone + lone + "x" + lone + lone);
}

TEST_CASE("a half at the end is held back until it is known") {
  surrogate_seam seam;
  std::string to;
  seam.append(to, std::string("a") + high);
  CHECK(to == "a");
  seam.append(to, "");
  CHECK(to == "a");
  seam.append(to, low);
  CHECK(to == std::string("a") + smile);
  seam.end(to);
  CHECK(to == std::string("a") + smile);
}

TEST_CASE("text without halves is left alone") {
  // The last is U+D7FF, whose first byte is that of the halves.
  for (const char* text : {"", "plain", "\xE2\x82\xAC", "\xEA\xB0\x80\xED\x95\x9C", "\xED\x9F\xBF"})
    CHECK(joined({text}) == text);
  CHECK(joined({std::string("a\0b", 3)}) == std::string("a\0b", 3));
}

TEST_CASE("escapes are undone as JSON has them") {
  CHECK(unescaped(R"(a\"\\\/\b\f\n\r\tz)") == "a\"\\/\b\f\n\r\tz");
  CHECK(unescaped(R"(\u0041\u00e9\u20AC)") == "A\xC3\xA9\xE2\x82\xAC");
  CHECK(unescaped(R"(\u0000x)") == std::string("\0x", 2));
  CHECK(unescaped(R"(\ud83d)") == high);
  CHECK(unescaped(R"(\ud83d\ude00)") == std::string(high) + low);
  for (const char* bad : {"\\q", "\\", "\\u12", "\\u12g4", "\\u+123", "\\u 123", "\\u-001"}) {
    CAPTURE(bad);
    CHECK_FALSE(unescape_halves(bad).has_value());
  }
}
