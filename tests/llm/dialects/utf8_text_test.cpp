#include "llm/dialects/utf8_text.hpp"

#include "llm/dialects/decoder_fixture.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::llm::decoded_utf8;
using sluice::llm::dialect;
using sluice::llm::test::reading;

namespace {

const std::string lost = "\xEF\xBF\xBD";

}  // namespace

TEST_CASE("what is UTF-8 stays as it is") {
  for (const std::string text : {"", "plain", "gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF",
                                 "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "\xEF\xBB\xBF", "\x7F"}) {
    CHECK(decoded_utf8(text) == text);
  }
  CHECK(decoded_utf8(std::string("a\0b", 3)) == std::string("a\0b", 3));
}

TEST_CASE("what is not becomes U+FFFD, one for each piece that could have begun a character") {
  CHECK(decoded_utf8("a\xFFz") == "a" + lost + "z");
  CHECK(decoded_utf8("\x80\xBF") == lost + lost);
  CHECK(decoded_utf8("\xC3") == lost);
  CHECK(decoded_utf8("\xE2\x82") == lost);
  CHECK(decoded_utf8("\xE2\x82z") == lost + "z");
  CHECK(decoded_utf8("\xF0\x9F\x98\"") == lost + "\"");
  CHECK(decoded_utf8("\xC3\xC3\xBC") == lost + "\xC3\xBC");
  // Long ways to spell a character, half a surrogate pair, and what is beyond the last one.
  CHECK(decoded_utf8("\xC0\xAF") == lost + lost);
  CHECK(decoded_utf8("\xE0\x80\x80") == lost + lost + lost);
  CHECK(decoded_utf8("\xF0\x80\x80\x80") == lost + lost + lost + lost);
  CHECK(decoded_utf8("\xED\xA0\x80") == lost + lost + lost);
  CHECK(decoded_utf8("\xF4\x90\x80\x80") == lost + lost + lost + lost);
  CHECK(decoded_utf8("\xF5\x80") == lost + lost);
  // Table 3-8 of the Unicode Standard.
  CHECK(decoded_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64") ==
        "a" + lost + lost + lost + "b" + lost + "c" + lost + lost + "d");
}

TEST_CASE("a stream with bytes that are no UTF-8 goes on, in every dialect and however it is cut") {
  const auto of = [](dialect spoken, const std::string& stream, std::size_t piece) {
    reading from(spoken);
    for (std::size_t at = 0; at < stream.size(); at += piece) from.push(std::string_view(stream).substr(at, piece));
    from.finish();
    CHECK_FALSE(from.why.has_value());
    CHECK(from.decoder->finished());
    return from.answer().text;
  };
  // Half a euro sign, a byte that is never one, and a letter in its own place.
  const std::string words = "a\xE2\x82z\xFF \xE2\x82\xAC";
  const std::string right = "a" + lost + "z" + lost + " \xE2\x82\xAC";
  const std::string chat =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + words +
      "\"}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"!\"},\"finish_reason\":\"stop\"}]}\n\n";
  const std::string messages =
      "event: content_block_start\n"
      "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
      "event: content_block_delta\n"
      "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" +
      words + "!\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n" +
      "data: {\"type\":\"message_stop\"}\n\n";
  const std::string responses =
      "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"" + words +
      "!\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
  for (std::size_t piece = 1; piece < 300; ++piece) {
    REQUIRE(of(dialect::openai_chat, chat, piece) == right + "!");
    REQUIRE(of(dialect::anthropic_messages, messages, piece) == right + "!");
    REQUIRE(of(dialect::openai_responses, responses, piece) == right + "!");
  }
}

TEST_CASE("so does a plain answer, and an error keeps its code") {
  reading plain(dialect::openai_chat);
  plain.document(
      "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a\xFFz\",\"tool_calls\":[{\"id\":\"t\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"\xC3\\\"}\"}}]},\"finish_reason\":\"stop\"}]}");
  CHECK_FALSE(plain.why.has_value());
  CHECK(plain.answer().text == "a" + lost + "z");
  REQUIRE(plain.answer().tool_calls.size() == 1);
  CHECK(plain.answer().tool_calls[0].arguments == "{\"a\":\"" + lost + "\"}");
  CHECK(plain.answer().tool_calls[0].valid);

  reading failed(dialect::openai_chat);
  failed.event("{\"error\":{\"message\":\"na\xEFve\",\"code\":\"rate_limit_exceeded\"}}");
  REQUIRE(failed.why.has_value());
  CHECK(failed.why->is(sluice::errc::rate_limited));
  CHECK(failed.why->message().find("na" + lost + "ve") != std::string::npos);
}
