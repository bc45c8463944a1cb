#include "llm/dialects/chat_decoder.hpp"

#include <sluice/llm/sse_parser.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using sluice::errc;
using sluice::llm::chat_decoder;
using sluice::llm::failure;
using sluice::llm::finish_reason;
using sluice::llm::stream_event;
using sluice::llm::usage_report;

namespace {

class reader {
 public:
  sluice::expected<void, failure> chunk(std::string json) { return feed(std::move(json), false); }
  sluice::expected<void, failure> document(std::string json) { return feed(std::move(json), true); }
  // One choice with this delta.
  void delta(const std::string& members) { REQUIRE(chunk(R"({"choices":[{"index":0,"delta":{)" + members + "}}]}")); }

  chat_decoder decoder{"sk-secret"};
  std::vector<stream_event> events;

 private:
  sluice::expected<void, failure> feed(std::string json, bool whole) {
    const std::size_t size = json.size();
    json.append(sluice::llm::sse_parser::padding, '\0');
    const std::string_view text = std::string_view(json).substr(0, size);
    return whole ? decoder.document(text, events) : decoder.chunk(text, events);
  }
};

usage_report usage_of(const std::string& json) {
  reader from;
  REQUIRE(from.chunk(R"({"choices":[],"usage":)" + json + "}"));
  REQUIRE(from.decoder.reported().has_value());
  return *from.decoder.reported();
}

}  // namespace

TEST_CASE("a plain answer") {
  reader from;
  REQUIRE(from.document(
      R"({"id":"c1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":"Hi \"you\" \u20ac","refusal":null},"finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,)"
      R"("prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":1}}})"));
  from.decoder.complete();
  const auto& answer = from.decoder.answer;
  CHECK(answer.text == "Hi \"you\" \xE2\x82\xAC");
  CHECK(answer.id == "c1");
  CHECK(answer.model == "m");
  CHECK(answer.finish == finish_reason::stop);
  CHECK(*from.decoder.reported() == usage_report{9, 2, 3, 1});
  CHECK(from.decoder.produced_bytes() == 12);
}

TEST_CASE("usage 1: a streamed answer, with what servers put between") {
  reader from;
  // Azure begins with filter results and no choices.
  REQUIRE(from.chunk(R"({"choices":[],"prompt_filter_results":[{"prompt_index":0}],"usage":null})"));
  REQUIRE(from.chunk(R"({"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
                     R"("finish_reason":null}],"usage":null})"));
  from.delta(R"("content":"Hel")");
  from.delta(R"("content":null)");
  from.delta("");
  from.delta(R"("content":"lo")");
  CHECK_FALSE(from.decoder.finished());
  REQUIRE(from.chunk(R"({"choices":[{"delta":{},"finish_reason":"length","index":0}]})"));
  CHECK(from.decoder.finished());
  REQUIRE(from.chunk(R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}})"));
  REQUIRE(from.chunk(R"({"object":"ping"})"));
  CHECK(from.decoder.answer.text == "Hello");
  CHECK(from.decoder.answer.finish == finish_reason::length);
  REQUIRE(from.events.size() == 2);
  CHECK(from.events[0].type == stream_event::kind::text);
  CHECK(from.events[0].text == "Hel");
  CHECK(from.events[1].text == "lo");
}

TEST_CASE("reasoning under either name, and once when under both") {
  reader from;
  from.delta(R"("reasoning_content":"a")");
  from.delta(R"("reasoning":"b")");
  from.delta(R"("reasoning":"c","reasoning_content":"c")");
  from.delta(R"("reasoning_content":null,"reasoning":"d")");
  CHECK(from.decoder.answer.reasoning == "abcd");
  CHECK(from.events.at(3).type == stream_event::kind::reasoning);
  from.delta(R"("refusal":"no")");
  CHECK(from.decoder.answer.refusal == "no");
}

TEST_CASE("content in parts, and choices beyond the first") {
  reader from;
  from.delta(R"("content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}])");
  REQUIRE(
      from.chunk(R"({"choices":[{"delta":{"content":"other"},"finish_reason":"stop","index":1},{"index":0,"delta":{)"
                 R"("content":"c"}}]})"));
  CHECK(from.decoder.answer.text == "abc");
  CHECK_FALSE(from.decoder.finished());
}

TEST_CASE("tools 1, 3, 5, 7, 8: tool calls come whole at the end, whatever their shape") {
  reader from;
  from.delta(R"("content":"Let me see.","tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"f",)"
             R"("arguments":""}}])");
  from.delta(R"("tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}])");
  from.delta(R"("tool_calls":[{"index":0,"function":{"arguments":"1}"}}])");
  from.delta(
      R"("tool_calls":[{"function":{"name":"g","arguments":{"deep":{"b":[1,2]}}}},{"id":null,"function":{"name":"h",)"
      R"("arguments":null}}])");
  CHECK(from.events.size() == 1);
  REQUIRE(from.chunk(R"({"choices":[{"index":0,"delta":{"tool_calls":null},"finish_reason":"stop"}]})"));
  from.decoder.complete();
  const auto& calls = from.decoder.answer.tool_calls;
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].id == "t1");
  CHECK(calls[0].arguments == R"({"a":1})");
  CHECK(calls[1].name == "g");
  CHECK(calls[1].arguments == R"({"deep":{"b":[1,2]}})");
  CHECK(calls[2].name == "h");
  CHECK(calls[2].arguments == "{}");
  CHECK(from.decoder.answer.text == "Let me see.");
  CHECK_FALSE(from.decoder.answer.announced_calls_missing);
}

TEST_CASE("tools 5, 7, 8: a whole call in the chunk of the finish reason, and calls that were announced only") {
  reader from;
  REQUIRE(from.document(R"({"choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":null,"tool_calls":)"
                        R"([{"id":"x","function":{"name":"f","arguments":"{}"}}]}}]})"));
  from.decoder.complete();
  CHECK(from.decoder.answer.tool_calls.size() == 1);
  reader none;
  REQUIRE(none.chunk(R"({"choices":[{"delta":{"content":"x"},"finish_reason":"tool_calls"}]})"));
  none.decoder.complete();
  CHECK(none.decoder.answer.announced_calls_missing);
}

TEST_CASE("usage 1, 3, 4: the last report wins, and odd numbers are read where they are clear") {
  reader from;
  CHECK_FALSE(from.decoder.reported().has_value());
  REQUIRE(from.chunk(
      R"({"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}})"));
  REQUIRE(from.chunk(R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":999}})"));
  REQUIRE(from.chunk(R"({"choices":[],"usage":{}})"));
  REQUIRE(from.chunk(R"({"choices":[],"usage":null})"));
  CHECK(*from.decoder.reported() == usage_report{9, 3});

  constexpr std::int64_t most = std::int64_t{1} << 53;
  CHECK(usage_of(R"({"prompt_tokens":12.0,"completion_tokens":"7"})") == usage_report{12, 7});
  CHECK(usage_of(R"({"prompt_tokens":9007199254740992,"completion_tokens":1e300})") == usage_report{most, most});
  CHECK(usage_of(R"({"prompt_tokens":18446744073709551615,"completion_tokens":[1]})") ==
        usage_report{most, std::nullopt});
}

TEST_CASE("usage 4: what is missing, negative or no number is absent, and what came before it stays") {
  CHECK(usage_of(R"({"prompt_tokens":-5,"completion_tokens":1})") == usage_report{std::nullopt, 1});
  CHECK(usage_of(R"({"prompt_tokens":"many","completion_tokens":1})") == usage_report{std::nullopt, 1});
  CHECK(usage_of(R"({"prompt_tokens":"nan","completion_tokens":0})") == usage_report{std::nullopt, 0});
  CHECK(usage_of(R"({"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":-2}})") ==
        usage_report{4, std::nullopt});
  reader from;
  REQUIRE(from.chunk(R"({"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":-1}})"));
  CHECK_FALSE(from.decoder.reported().has_value());
  REQUIRE(from.chunk(R"({"choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":3}}})"));
  REQUIRE(from.chunk(R"({"choices":[],"usage":{"completion_tokens":2}})"));
  CHECK(*from.decoder.reported() == usage_report{9, 2, 3, 0});
}

TEST_CASE("an error where an answer was due") {
  reader from;
  const auto failed = from.chunk(R"({"error":{"message":"try later","type":"server_error","code":"overloaded"}})");
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().is(errc::overloaded));
  CHECK(failed.error().message().find("try later") != std::string::npos);
  reader vllm;
  const auto other = vllm.document(R"({"object":"error","message":"no such model","type":"NotFoundError","code":404})");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().is(errc::provider_refused));
  reader fine;
  CHECK(fine.chunk(R"({"error":null,"choices":[]})").has_value());
}

TEST_CASE("what is no answer is a protocol error that quotes its start") {
  for (const char* text : {"{\"choices\":[{\"delta\":{\"content\":\"x", "{\"choices\":[]", "nope", "[1]", "",
                           "{\"a\":1}{\"b\":2}", "{\"choices\":[{\"delta\":{\"content\":\"\\q\"}}]}", "{\"id\" 1}",
                           "{\"error\":nul}", "{\"error\":", "{\"error\"ndex\":0}", "\"text\"", "\xFF{}"}) {
    CAPTURE(text);
    reader from;
    const auto failed = from.chunk(text);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().is(errc::protocol_error));
  }
  reader from;
  const auto failed = from.document(R"({"hello":"sk-secret"})");
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message() == R"(the provider's answer holds no choices; it begins {"hello":"[key]"})");
}

TEST_CASE("members of the wrong kind are passed over") {
  reader from;
  CHECK(from.chunk(R"({"choices":5,"usage":"x","id":7})").has_value());
  CHECK(from.chunk(R"({"choices":[null,3,{"delta":[],"finish_reason":4,"index":"0"},{"delta":{"content":{"a":1},)"
                   R"("tool_calls":[1,{"function":2,"index":"x"}]}}]})")
            .has_value());
  CHECK(from.decoder.answer.text.empty());
}

TEST_CASE("halves of a surrogate pair in two deltas are one character, a lone one is U+FFFD") {
  reader from;
  from.delta(R"("content":"a\ud83d","reasoning":"\ud83d","reasoning_content":"\ud83d")");
  from.delta(R"("reasoning":"\ude00")");
  from.delta(R"("content":"\ude00b\ud83dc","tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{)"
             R"(\"s\":\"\ud83d"}}])");
  from.delta(R"("tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}])");
  REQUIRE(from.chunk(R"({"id":"\ud83d","model":"\ud83d\ude00","\ud83d":1,"choices":[{"delta":{"content":"\ud83d"},)"
                     R"("finish_reason":"stop"}]})"));
  from.decoder.complete();
  CHECK(from.decoder.answer.text ==
        "a\xF0\x9F\x98\x80"
        "b\xEF\xBF\xBD"
        "c\xEF\xBF\xBD");
  CHECK(from.decoder.answer.reasoning == "\xF0\x9F\x98\x80");
  CHECK(from.decoder.answer.tool_calls.at(0).arguments == "{\"s\":\"\xF0\x9F\x98\x80\"}");
  CHECK(from.decoder.answer.id == "\xEF\xBF\xBD");
  CHECK(from.decoder.answer.model == "\xF0\x9F\x98\x80");
  std::string all;
  for (const stream_event& one : from.events) {
    if (one.type == stream_event::kind::text) all += one.text;
  }
  CHECK(all == from.decoder.answer.text);
}

TEST_CASE("finish reasons, and how imitators spell them") {
  const auto of = [](const std::string& reason) {
    reader from;
    REQUIRE(from.chunk(R"({"choices":[{"delta":{},"finish_reason":)" + reason + "}]}"));
    return from.decoder.answer.finish;
  };
  for (const char* word : {"\"stop\"", "\"eos\"", "\"eos_token\"", "\"stop_sequence\"", "\"end_turn\""})
    CHECK(of(word) == finish_reason::stop);
  for (const char* word : {"\"length\"", "\"max_tokens\"", "\"model_length\""})
    CHECK(of(word) == finish_reason::length);
  for (const char* word : {"\"tool_calls\"", "\"function_call\"", "\"tool_use\""})
    CHECK(of(word) == finish_reason::tool_calls);
  CHECK(of("\"content_filter\"") == finish_reason::content_filter);
  CHECK(of("\"refusal\"") == finish_reason::refusal);
  CHECK(of("\"abort\"") == finish_reason::other);
  for (const char* word : {"null", "\"\"", "7", "{}"}) CHECK(of(word) == finish_reason::none);
}

TEST_CASE("a single call, as it was sent before there could be several") {
  reader from;
  from.delta(R"("function_call":{"name":"f","arguments":"{\"a\""})");
  from.delta(R"("function_call":{"arguments":":1}"})");
  REQUIRE(from.chunk(R"({"choices":[{"delta":{"function_call":null},"finish_reason":"function_call"}]})"));
  from.decoder.complete();
  REQUIRE(from.decoder.answer.tool_calls.size() == 1);
  CHECK(from.decoder.answer.tool_calls[0].id == "call_1");
  CHECK(from.decoder.answer.tool_calls[0].arguments == R"({"a":1})");
  CHECK_FALSE(from.decoder.answer.announced_calls_missing);
}

TEST_CASE("error objects of many servers, and what some put where there is no error") {
  const auto code_of = [](const std::string& json) {
    reader from;
    const auto read = from.chunk(json);
    return read ? std::string("none") : read.error().message();
  };
  // vLLM, llama.cpp, Ollama.
  CHECK(code_of(R"({"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400})")
            .find("too long") != std::string::npos);
  CHECK(code_of(R"({"error":{"code":500,"message":"slot unavailable","type":"server_error"}})")
            .find("slot unavailable") != std::string::npos);
  CHECK(code_of(R"({"error":"model 'x' not found"})").find("model 'x' not found") != std::string::npos);
  for (const char* absent : {"null", "false", "\"\""})
    CHECK(code_of(std::string(R"({"choices":[],"error":)") + absent + "}") == "none");
}

TEST_CASE("sse 8: the end mark in its forms, and in an answer") {
  const auto ends = [](const std::string& data, std::string_view type = {}) {
    std::string text = data;
    text.append(sluice::llm::sse_parser::padding, '\0');
    chat_decoder decoder("");
    std::vector<stream_event> out;
    const auto read = decoder.event({type, std::string_view(text).substr(0, data.size()), {}, false}, out);
    return read.has_value() ? (*read ? "over" : "on") : "failed";
  };
  CHECK(ends("[DONE]") == std::string("over"));
  CHECK(ends("[DONE] ") == std::string("over"));
  CHECK(ends(" [DONE]\r") == std::string("over"));
  CHECK(ends(R"({"choices":[{"delta":{"content":"[DONE]"}}]})") == std::string("on"));
  CHECK(ends("[DONE") == std::string("failed"));
  // Signs of life under names of their own.
  CHECK(ends("2024-01-01", "heartbeat") == std::string("on"));
  CHECK(ends("{}", "ping") == std::string("on"));
  CHECK(ends("overloaded", "error") == std::string("failed"));
}

TEST_CASE("n > 1: the first choice is the answer, the usage is that of all") {
  reader from;
  REQUIRE(from.document(
      R"({"choices":[{"index":1,"message":{"content":"b"},"finish_reason":"length"},{"index":0,"message":{)"
      R"("content":"a"},"finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":9,"completion_tokens":20}})"));
  CHECK(from.decoder.answer.text == "a");
  CHECK(from.decoder.answer.finish == finish_reason::stop);
  CHECK(*from.decoder.reported() == usage_report{9, 20});
}

TEST_CASE("nesting, zeros and length do no harm") {
  reader deep;
  const std::string nested = std::string(10'000, '[') + std::string(10'000, ']');
  REQUIRE(deep.chunk(R"({"logprobs":)" + nested + R"(,"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]})"));
  CHECK(deep.decoder.answer.text == "x");
  deep.delta(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"d":)" + nested + "}}}]");
  deep.decoder.complete();
  CHECK(deep.decoder.answer.tool_calls.at(0).problem == "the arguments are nested deeper than 512 levels");
  reader open;
  CHECK_FALSE(open.chunk(std::string(10'000, '{')).has_value());
  CHECK_FALSE(open.chunk(R"({"choices":)" + std::string(1'000'000, '[')).has_value());

  reader zeros;
  zeros.delta(R"("content":"a\u0000b")");
  CHECK(zeros.decoder.answer.text == std::string("a\0b", 3));
  CHECK_FALSE(zeros.chunk(std::string("{\"id\":\"a\0b\"}", 12)).has_value());

  reader large;
  const std::string words(20'000'000, 'w');
  large.delta("\"content\":\"" + words + "\"");
  CHECK(large.decoder.answer.text == words);
}
