#include "core/byte_stream.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace sluice::core;

namespace {

std::string bytes_of(std::uint64_t value) {
  std::string text;
  byte_sink(text).number(value);
  return text;
}

}  // namespace

TEST_CASE("numbers take a byte for each seven bits, and come back") {
  CHECK(bytes_of(0) == std::string(1, '\0'));
  CHECK(bytes_of(127) == "\x7f");
  CHECK(bytes_of(128) == std::string("\x80\x01"));
  CHECK(bytes_of(300) == std::string("\xac\x02"));
  CHECK(bytes_of(std::numeric_limits<std::uint64_t>::max()).size() == 10);
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value :
         {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1, ~(std::uint64_t{1} << bit)}) {
      const std::string text = bytes_of(value);
      byte_source source(text);
      std::uint64_t back = 0;
      source.number(back, "a number");
      CHECK(back == value);
      CHECK(source.left() == 0);
      CHECK_FALSE(source.failed());
    }
  }
}

TEST_CASE("a number has one spelling") {
  using namespace std::string_literals;
  for (const std::string& text : {"\x80\x00"s, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s,
                                  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "\x80"s, ""s}) {
    byte_source source(text);
    std::uint64_t back = 7;
    source.number(back, "a number");
    CHECK(source.failed());
    CHECK(back == 0);
    CHECK(source.expected() == std::string("a number"));
  }
}

TEST_CASE("signs are folded, and distances wrap and come back") {
  CHECK(folded(0) == 0);
  CHECK(folded(-1) == 1);
  CHECK(folded(1) == 2);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t a : {most, least, std::int64_t{0}, std::int64_t{-5}, std::int64_t{77}}) {
    CHECK(unfolded(folded(a)) == a);
    for (const std::int64_t b : {most, least, std::int64_t{0}, std::int64_t{3}})
      CHECK(at_distance(a, distance(a, b)) == b);
  }
}

TEST_CASE("after the first failure nothing is read, and its place is kept") {
  std::string text;
  byte_sink sink(text);
  sink.byte(9);
  sink.text("name");
  sink.word(0x0123'4567'89ab'cdef);
  byte_source source(std::string_view(text).substr(0, text.size() - 1));
  std::uint8_t byte = 0;
  source.byte(byte, "a byte");
  CHECK(byte == 9);
  std::string name;
  source.text(name, "a name");
  CHECK(name == "name");
  std::uint64_t word = 1;
  source.word(word, "a word");
  CHECK(word == 0);
  CHECK(source.where() == 6);
  source.byte(byte, "another byte");
  CHECK(byte == 0);
  CHECK(source.expected() == std::string("a word"));
  CHECK(source.where() == 6);
}

TEST_CASE("a text that is longer than what is left is no text") {
  std::string text;
  byte_sink(text).number(1'000'000);
  byte_source source(text);
  std::string name = "before";
  source.text(name, "a name");
  CHECK(source.failed());
  CHECK(name.empty());
}
