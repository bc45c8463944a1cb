#include <sluice/llm/text_profile.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

using sluice::llm::count_tokens;
using sluice::llm::text_profile;
using sluice::llm::text_ratios;
using sluice::llm::whole_tokens;
namespace families = sluice::llm::families;

namespace {

text_profile of(std::string_view text) {
  text_profile seen;
  seen.add(text);
  return seen;
}

std::string repeated(std::string_view piece, int times) {
  std::string whole;
  for (int i = 0; i < times; ++i) whole += piece;
  return whole;
}

}  // namespace

TEST_CASE("each character is counted once, as what it is") {
  CHECK(of("") == text_profile{});
  CHECK(of("a Z\t9{~\x7F") == text_profile{.ascii = 8, .marks = 4});
  // e acute, sharp s; an em dash and an opening quote.
  CHECK(of("\xC3\xA9\xC3\x9F\xE2\x80\x94\xE2\x80\x9C") == text_profile{.accented = 4});
  // Cyrillic zhe, Greek omega, Hebrew alef, Arabic alef, Devanagari ka, Thai ko, Georgian an.
  CHECK(of("\xD0\xB6\xCF\x89\xD7\x90\xD8\xA7\xE0\xA4\x95\xE0\xB8\x81\xE1\x83\x90") ==
        text_profile{.cyrillic = 1, .other = 6});
  // Hiragana a, two Chinese characters, a Korean syllable, a fullwidth A.
  CHECK(of("\xE3\x81\x82\xE6\xB0\xB4\xE9\x97\xB8\xED\x95\x9C\xEF\xBC\xA1") == text_profile{.cjk = 5});
  CHECK(of("\xF0\x9F\x98\x80") == text_profile{.emoji = 1});
}

TEST_CASE("the same, wherever the text is cut") {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "if (x == \"\xC3\xA9\") { \xE6\xB0\xB4; } \xD0\xB6 \xF0\x9F\x98\x80\n";
  const text_profile whole = of(text);
  CHECK(whole.cjk == 40);
  CHECK(whole.emoji == 40);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    text_profile pieces = of(std::string_view(text).substr(0, cut));
    pieces.add(std::string_view(text).substr(cut));
    REQUIRE(pieces == whole);
  }
  text_profile bytes;
  for (const char& byte : text) bytes.add(std::string_view(&byte, 1));
  CHECK(bytes == whole);
}

TEST_CASE("long texts do not wrap the small sums") {
  CHECK(of(std::string(1'000'003, '!')) == text_profile{.ascii = 1'000'003, .marks = 1'000'003});
  CHECK(of(repeated("\xE6\xB0\xB4", 100'001)) == text_profile{.cjk = 100'001});
}

TEST_CASE("bytes that are no UTF-8 are not free") {
  const text_profile stray = of(std::string(1'000, '\x80'));
  CHECK(stray.ascii == 0);
  CHECK(stray.other == 997);
  CHECK(of(std::string(1'000, '\xFF')).emoji == 1'000);
}

TEST_CASE("words, code, JSON and numbers, and no jump between them") {
  const text_ratios by{.prose = 4, .code = 3, .json = 2.5, .numbers = 2};
  CHECK(count_tokens(std::string(4'000, 'q'), by) == 1'000);
  // 8, 18, 35 and 75 marks in a hundred, and nothing but marks.
  CHECK(text_profile{.ascii = 1'200, .marks = 96}.tokens(by) == 300);
  CHECK(text_profile{.ascii = 1'200, .marks = 216}.tokens(by) == 400);
  CHECK(text_profile{.ascii = 1'200, .marks = 420}.tokens(by) == 480);
  CHECK(text_profile{.ascii = 1'200, .marks = 900}.tokens(by) == 600);
  CHECK(text_profile{.ascii = 1'200, .marks = 1'200}.tokens(by) == 600);
  // Half way between prose and code: the mean of 1/4 and 1/3.
  CHECK(text_profile{.ascii = 1'200, .marks = 156}.tokens(by) == 350);
  double last = 0;
  for (std::int64_t marks = 0; marks <= 1'000; ++marks) {
    const double now = text_profile{.ascii = 1'000, .marks = marks}.exact(by);
    CHECK(now >= last);
    if (marks > 0) CHECK(now - last < 1.5);
    last = now;
  }
}

TEST_CASE("other scripts have ratios of their own") {
  const text_ratios by{.accented = 0.5, .cyrillic = 2, .cjk = 0.8, .other = 1.25, .emoji = 0.25};
  CHECK(text_profile{.accented = 10}.tokens(by) == 20);
  CHECK(text_profile{.cyrillic = 10}.tokens(by) == 5);
  CHECK(text_profile{.cjk = 8}.tokens(by) == 10);
  CHECK(text_profile{.other = 10}.tokens(by) == 8);
  CHECK(text_profile{.emoji = 1}.tokens(by) == 4);
  CHECK(text_profile{.accented = 1, .cyrillic = 2, .cjk = 4, .other = 5, .emoji = 1}.tokens(by) == 2 + 1 + 5 + 4 + 4);
}

TEST_CASE("rounded up, but not by the rounding of sums") {
  CHECK(whole_tokens(0) == 0);
  CHECK(whole_tokens(-3) == 0);
  CHECK(whole_tokens(0.001) == 1);
  CHECK(whole_tokens(7) == 7);
  CHECK(whole_tokens(7.01) == 8);
  CHECK(whole_tokens(0.1 + 0.2 + 0.7) == 1);
  CHECK(whole_tokens(1e300) == std::int64_t{1} << 62);
}

// What the families' public tokenizers make of these, counted once by the vocabularies o200k and cl100k.
TEST_CASE("near what tokenizers count") {
  const auto near = [](std::int64_t estimate, std::int64_t counted) {
    CHECK(estimate >= counted - counted / 10);
    CHECK(estimate <= counted + counted / 3 + 1);
  };
  const std::string_view prose =
      "Whereas recognition of the inherent dignity and of the equal and inalienable rights of all members of the human "
      "family is "
      "the foundation of freedom, justice and peace in the world, whereas disregard and contempt for human rights have "
      "resulted "
      "in barbarous acts which have outraged the conscience of mankind.";
  near(count_tokens(prose, families::openai_o200k), 58);
  near(count_tokens(prose, families::openai_cl100k), 57);
  const std::string_view code =
      "for (std::size_t i = 0; i < rows.size(); ++i) {\n  if (rows[i].key != key) continue;\n  rows[i].heard = clock;\n"
      "  return *rows[i].value;\n}\nthrow std::out_of_range(\"no such key\");\n";
  near(count_tokens(code, families::openai_o200k), 60);
  near(count_tokens(code, families::openai_cl100k), 60);
  const std::string_view json =
      R"([{"id":17,"city":"Paris","lat":48.85661,"ok":true,"tags":["capital","river"]},{"id":18,"city":"Oslo",)"
      R"("lat":59.91273,"ok":false,"tags":[]}])";
  near(count_tokens(json, families::openai_o200k), 51);
  near(count_tokens(json, families::openai_cl100k), 52);
  const std::string_view chinese =
      "\xE4\xBA\xBA\xE4\xBA\xBA\xE7\x94\x9F\xE8\x80\x8C\xE8\x87\xAA\xE7\x94\xB1\xEF\xBC\x8C\xE5\x9C\xA8\xE5\xB0\x8A\xE4"
      "\xB8\xA5"
      "\xE5\x92\x8C\xE6\x9D\x83\xE5\x88\xA9\xE4\xB8\x8A\xE4\xB8\x80\xE5\xBE\x8B\xE5\xB9\xB3\xE7\xAD\x89\xE3\x80\x82";
  near(count_tokens(chinese, families::openai_o200k), 15);
  near(count_tokens(chinese, families::openai_cl100k), 21);
}
