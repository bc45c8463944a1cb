#include "llm/dialects/decoder_fixture.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using sluice::llm::dialect;
using sluice::llm::sse_parser;
using sluice::llm::test::reading;

namespace {

class recording {
 public:
  const char* name;
  dialect spoken;
};

constexpr recording recordings[] = {
    {"chat_text", dialect::openai_chat},
    {"chat_tools", dialect::openai_chat},
    {"chat_imitator", dialect::openai_chat},
    {"chat_pairs", dialect::openai_chat},
    {"chat_error", dialect::openai_chat},
    {"responses_text", dialect::openai_responses},
    {"responses_tools", dialect::openai_responses},
    {"responses_reasoning", dialect::openai_responses},
    {"responses_incomplete", dialect::openai_responses},
    {"responses_failed", dialect::openai_responses},
    {"messages_text", dialect::anthropic_messages},
    {"messages_tools", dialect::anthropic_messages},
    {"messages_thinking", dialect::anthropic_messages},
    {"messages_error", dialect::anthropic_messages},
};

std::string contents(const std::string& name) {
  std::ifstream file(std::string(SLUICE_STREAMS) + '/' + name, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string with_line_end(const std::string& text, std::string_view end) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += end;
    } else {
      out += c;
    }
  }
  return out;
}

// Each piece in memory of its own, so that a view into a former one would be found.
template <typename To>
void push(To& to, std::string_view piece) {
  const std::vector<char> copy(piece.begin(), piece.end());
  to.push(std::string_view(copy.data(), copy.size()));
}

std::string read_in_steps(dialect spoken, std::string_view text, std::size_t step) {
  reading from(spoken);
  for (std::size_t at = 0; at < text.size(); at += step) push(from, text.substr(at, step));
  from.finish();
  return from.story();
}

std::string read_cut(dialect spoken, std::string_view text, std::size_t cut) {
  reading from(spoken);
  push(from, text.substr(0, cut));
  push(from, text.substr(cut));
  from.finish();
  return from.story();
}

}  // namespace

TEST_CASE("sse 1, 2, 7: recorded streams give what they hold, with any line ends, cut at every byte") {
  for (const recording& one : recordings) {
    CAPTURE(one.name);
    const std::string text = contents(std::string(one.name) + ".sse");
    const std::string expected = contents(std::string(one.name) + ".expected");
    CHECK(read_in_steps(one.spoken, text, text.size()) == expected);
    for (const std::string_view end : {"\n", "\r", "\r\n"}) {
      const std::string other = with_line_end(text, end);
      for (std::size_t step = 1; step <= 17; ++step) CHECK(read_in_steps(one.spoken, other, step) == expected);
      for (std::size_t cut = 1; cut < other.size(); ++cut) {
        if (read_cut(one.spoken, other, cut) != expected) FAIL("cut at " << cut);
      }
    }
  }
}

TEST_CASE("a recorded stream that ends early is never taken for a whole answer") {
  for (const recording& one : recordings) {
    CAPTURE(one.name);
    const std::string text = contents(std::string(one.name) + ".sse");
    reading whole(one.spoken);
    whole.push(text);
    whole.finish();
    const std::string full = whole.answer().text;
    for (std::size_t length = 0; length < text.size(); length += 7) {
      reading from(one.spoken);
      push(from, std::string_view(text).substr(0, length));
      from.finish();
      const bool is_whole = !from.why && from.decoder->finished();
      const bool kept = full.starts_with(from.answer().text) || from.answer().text.ends_with("\xEF\xBF\xBD");
      CHECK(kept);
      if (is_whole) CHECK(from.answer().text == full);
    }
  }
}
