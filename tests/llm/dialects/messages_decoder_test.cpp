#include "llm/dialects/decoder_fixture.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

using namespace sluice::llm;
using sluice::errc;

namespace {

class answer_of {
 public:
  explicit answer_of(const std::string& json) : from(dialect::anthropic_messages) { from.document(json); }
  test::reading from;
};

std::string with_content(const std::string& blocks, const std::string& rest = R"("stop_reason":"end_turn")") {
  return R"({"id":"msg_1","type":"message","role":"assistant","model":"m","content":[)" + blocks + "]," + rest + "}";
}

finish_reason finish_of(const std::string& reason) {
  const answer_of whole(with_content("", R"("stop_reason":)" + reason));
  test::reading streamed(dialect::anthropic_messages);
  streamed.event(R"({"type":"message_delta","delta":{"stop_reason":)" + reason + R"(,"stop_sequence":null}})");
  CHECK(streamed.answer().finish == whole.from.answer().finish);
  return whole.from.answer().finish;
}

// A stream of these events, and the end of one.
test::reading streamed(std::initializer_list<const char*> events) {
  test::reading from(dialect::anthropic_messages);
  for (const char* one : events) from.event(one);
  from.event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}})");
  from.event(R"({"type":"message_stop"})");
  from.finish();
  return from;
}

}  // namespace

TEST_CASE("a plain answer of every kind of block") {
  const answer_of one(with_content(
      R"({"type":"thinking","thinking":"Hm \"x\"","signature":"Eq=="},{"type":"redacted_thinking","data":"Em=="},)"
      R"({"type":"text","text":"Let me \u20ac"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": [1, 2]}},)"
      R"({"type":"tool_use","id":"toolu_2","name":"g","input":{}},{"type":"web_search_tool_result","tool_use_id":"s",)"
      R"("content":[]})",
      R"("stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":7})"));
  CHECK(one.from.story() ==
        "reasoning Hm \"x\"\n"
        "text Let me \xE2\x82\xAC\n"
        "= ended\n"
        "finish tool_calls\n"
        "id msg_1\n"
        "model m\n"
        "text Let me \xE2\x82\xAC\n"
        "reasoning Hm \"x\"\n"
        "call toolu_1 f {\"a\": [1, 2]}\n"
        "call toolu_2 g {}\n"
        "opaque {\"type\":\"thinking\",\"thinking\":\"Hm \\\"x\\\"\",\"signature\":\"Eq==\"}\n"
        "opaque {\"type\":\"redacted_thinking\",\"data\":\"Em==\"}\n"
        "opaque {\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[]}\n"
        "usage in 20 (cached 0, written 0) out 7 (reasoning 0)\n");
  CHECK(one.from.answer().opaque.at(0).spoken == dialect::anthropic_messages);
  CHECK(one.from.decoder->produced_bytes() == 6 + 10 + 1 + 1 + 13);
}

TEST_CASE("stop reasons") {
  CHECK(finish_of("\"end_turn\"") == finish_reason::stop);
  CHECK(finish_of("\"stop_sequence\"") == finish_reason::stop);
  CHECK(finish_of("\"max_tokens\"") == finish_reason::length);
  CHECK(finish_of("\"model_context_window_exceeded\"") == finish_reason::length);
  CHECK(finish_of("\"tool_use\"") == finish_reason::tool_calls);
  CHECK(finish_of("\"pause_turn\"") == finish_reason::paused);
  CHECK(finish_of("\"refusal\"") == finish_reason::refusal);
  CHECK(finish_of("\"something_new\"") == finish_reason::other);
  CHECK(finish_of("null") == finish_reason::none);
  const answer_of one(with_content("", R"("stop_reason":"stop_sequence","stop_sequence":"END")"));
  CHECK(one.from.answer().stop_sequence == "END");
}

TEST_CASE("rules 1: a message_stop without a stop reason is no end") {
  test::reading from(dialect::anthropic_messages);
  from.event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}})");
  from.event(R"({"type":"message_stop"})");
  CHECK(from.over);
  CHECK_FALSE(from.decoder->finished());
}

TEST_CASE("tools 10: no input at all is an empty object") {
  const auto from = streamed(
      {R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}})",
       R"({"type":"content_block_stop","index":0})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"g"}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}})"});
  REQUIRE(from.answer().tool_calls.size() == 2);
  CHECK(from.answer().tool_calls[0].arguments == "{}");
  CHECK(from.answer().tool_calls[1].arguments == "{}");
  CHECK(from.answer().tool_calls[1].valid);
}

TEST_CASE("input that comes with the start holds only when no pieces come") {
  const auto from = streamed(
      {R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{)"
       R"("n":1}}})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"g","input":{)"
       R"("n":2}}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":"}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"3}"}})"});
  REQUIRE(from.answer().tool_calls.size() == 2);
  CHECK(from.answer().tool_calls[0].arguments == R"({"n":1})");
  CHECK(from.answer().tool_calls[1].arguments == R"({"n":3})");
}

TEST_CASE("tools 2: blocks whose pieces alternate, and come in no order") {
  const auto from = streamed(
      {R"({"content_block":{"input":{},"name":"g","id":"b","type":"tool_use"},"index":3,"type":"content_block_start"})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}})",
       R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"y\""}})",
       R"({"delta":{"partial_json":":1}","type":"input_json_delta"},"index":3,"type":"content_block_delta"})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":2}"}})"});
  REQUIRE(from.answer().tool_calls.size() == 2);
  CHECK(from.answer().tool_calls[0].id == "a");
  CHECK(from.answer().tool_calls[0].arguments == R"({"y":2})");
  CHECK(from.answer().tool_calls[1].arguments == R"({"x":1})");
}

TEST_CASE("a block that never ended is closed with the answer") {
  const auto from =
      streamed({R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a"}})",
                R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"b\ud83d"}})",
                R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00"}})",
                R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}})"});
  CHECK(from.answer().reasoning == "ab\xF0\x9F\x98\x80");
  REQUIRE(from.answer().opaque.size() == 1);
  CHECK(from.answer().opaque[0].json ==
        "{\"type\":\"thinking\",\"thinking\":\"ab\xF0\x9F\x98\x80\",\"signature\":\"s\"}");
}

TEST_CASE("blocks that begin twice, deltas without a block, and indices that are missing") {
  const auto from = streamed(
      {R"({"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"a"}})",
       R"({"type":"content_block_start","content_block":{"type":"text","text":"b"}})",
       R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"c"}})", R"({"type":"content_block_stop"})",
       R"({"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"x","name":"f","input":{)"
       R"("n":1}}})",
       R"({"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"y","name":"g","input":{)"
       R"("n":2}}})",
       R"({"type":"content_block_stop","index":77})",
       R"({"type":"content_block_delta","index":8,"delta":{"type":"signature_delta","signature":"s"}})"});
  CHECK(from.answer().text == "abc");
  REQUIRE(from.answer().tool_calls.size() == 2);
  CHECK(from.answer().tool_calls[0].arguments == R"({"n":1})");
  CHECK(from.answer().tool_calls[1].id == "y");
  CHECK(from.answer().opaque.empty());
}

TEST_CASE("what is not known is skipped, or kept as it came") {
  const auto from = streamed(
      {R"({"type":"something_new","index":{"a":[1]}})", R"({"no_type":1})", R"({"type":"ping"})",
       R"({"type":"content_block_start","index":0,"content_block":{"type":"mcp_tool_use","id":"m","input":{}}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"[1"}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"new_delta","text":"no"}})",
       R"({"type":"content_block_stop","index":0})"});
  CHECK(from.answer().text.empty());
  REQUIRE(from.answer().opaque.size() == 1);
  CHECK(from.answer().opaque[0].json == R"({"type":"mcp_tool_use","id":"m","input":{}})");
}

TEST_CASE("usage 2: the output is a total, and the input all three figures") {
  test::reading from(dialect::anthropic_messages);
  from.event(R"({"type":"message_start","message":{"usage":{"input_tokens":25,"cache_creation_input_tokens":3,)"
             R"("cache_read_input_tokens":7,"output_tokens":1}}})");
  // The prompt's figures are told before there is any output.
  CHECK(from.usage() == usage_report{35, std::nullopt, 7, 0, 3});
  from.event(R"({"type":"message_delta","delta":{},"usage":{"output_tokens":9}})");
  from.event(
      R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"output_tokens":15}})");
  CHECK(from.usage() == usage_report{35, 15, 7, 0, 3});
  const answer_of whole(
      with_content("", R"("usage":{"input_tokens":2,"cache_read_input_tokens":null,"output_tokens":4})"));
  CHECK(whole.from.usage() == usage_report{2, 4});
}

TEST_CASE("usage 4: odd figures") {
  const auto of = [](const std::string& usage) {
    return answer_of(with_content("", R"("usage":)" + usage)).from.usage();
  };
  constexpr std::int64_t most = std::int64_t{1} << 53;
  CHECK(of(R"({"input_tokens":12.0,"output_tokens":"7"})") == usage_report{12, 7});
  CHECK(of(R"({"input_tokens":9007199254740992,"output_tokens":1e300})") == usage_report{most, most});
  CHECK(of(R"({"input_tokens":-4,"output_tokens":5})") == usage_report{std::nullopt, 5});
  CHECK(of(R"({"input_tokens":[],"output_tokens":"x"})") == usage_report{});
  CHECK(of("null") == usage_report{});
}

TEST_CASE("an error where an answer was due") {
  const answer_of whole(
      R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"})");
  REQUIRE(whole.from.why.has_value());
  CHECK(whole.from.why->is(errc::overloaded));
  test::reading unnamed(dialect::anthropic_messages);
  unnamed.event(R"({"type":"error","error":{"type":"rate_limit_error","message":"slow"}})");
  REQUIRE(unnamed.why.has_value());
  CHECK(unnamed.why->is(errc::rate_limited));
  test::reading named(dialect::anthropic_messages);
  named.event("<html>", "error");
  CHECK(named.why.has_value());
}

TEST_CASE("what is no answer is a protocol error that quotes its start") {
  for (const char* text :
       {R"({"type":"message","id":"x","key":"sk-secret"})", R"({"content":5})", "[]", "", R"({"content":[)",
        R"({"content":[]}{})", R"({"content":[{"type":"text","text":"\q"}]})", R"({"\q":1,"content":[]})"}) {
    CAPTURE(text);
    const answer_of one(text);
    REQUIRE(one.from.why.has_value());
    CHECK(one.from.why->is(errc::protocol_error));
    CHECK(one.from.why->message().find("sk-secret") == std::string::npos);
  }
  CHECK(answer_of(R"({"hello":1})").from.why->message() ==
        R"(the provider's answer holds no content; it begins {"hello":1})");
}

TEST_CASE("sse 8: the end marks of imitators, and signs of life under names of their own") {
  test::reading from(dialect::anthropic_messages);
  from.event("still here", "heartbeat");
  from.event("", "ping");
  CHECK_FALSE(from.ended());
  from.event(" [DONE] ");
  CHECK(from.over);
}
