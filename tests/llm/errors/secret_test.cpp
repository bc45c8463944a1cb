#include "llm/errors/secret.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::llm::find_secret;

namespace {

// `before|what was found|after`, with `~` for what may be the beginning of it.
std::string found(std::string_view text, std::string_view secret) {
  const auto place = find_secret(text, secret);
  return std::string(text.substr(0, place.begin)) + '|' + std::string(text.substr(place.begin, place.length)) +
         (place.partial ? "~" : "|") + std::string(text.substr(place.begin + place.length));
}

}  // namespace

TEST_CASE("a key is found as it is") {
  CHECK(found("the key sk-1/a+b= is wrong", "sk-1/a+b=") == "the key |sk-1/a+b=| is wrong");
  CHECK(found("sksk-1", "sk-1") == "sk|sk-1|");
  CHECK(found("nothing here", "sk-1") == "nothing here||");
  CHECK(found("", "sk-1") == "||");
}

TEST_CASE("a key is found as JSON writes it") {
  CHECK(found(R"(x AbC\/dEf y)", "AbC/dEf") == R"(x |AbC\/dEf| y)");
  CHECK(found(R"(x AbC\u002FdEf\u002b y)", "AbC/dEf+") == R"(x |AbC\u002FdEf\u002b| y)");
  CHECK(found(R"(x sk\"a\\b y)", R"(sk"a\b)") == R"(x |sk\"a\\b| y)");
  CHECK(found(R"(\u0073k-1)", "sk-1") == R"(|\u0073k-1|)");
  CHECK(found(R"(sk\u00zz-1)", "sk-1") == R"(sk\u00zz-1||)");
}

TEST_CASE("a key is found as a URL has it") {
  CHECK(found("k=sk%2Fa%2bb&x", "sk/a+b") == "k=|sk%2Fa%2bb|&x");
  CHECK(found("100%25 sk-1", "sk-1") == "100%25 |sk-1|");
}

TEST_CASE("what may be the beginning of a key at the end of a text is told") {
  CHECK(found("the key sk-", "sk-1") == "the key |sk-~");
  CHECK(found(R"(the key sk\u00)", "sk-1") == R"(the key |sk\u00~)");
  CHECK(found("the key sk%", "sk-1") == "the key |sk%~");
}
