#include "llm/dialects/decoder_fixture.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

using namespace sluice::llm;
using sluice::errc;

namespace {

class answer_of {
 public:
  explicit answer_of(const std::string& json) : from(dialect::openai_responses) { from.document(json); }
  test::reading from;
};

std::string with_output(const std::string& items, const std::string& rest = R"("status":"completed")") {
  return R"({"id":"resp_1","object":"response","model":"m","error":null,"output":[)" + items + "]," + rest + "}";
}

finish_reason finish_of(const std::string& rest) { return answer_of(with_output("", rest)).from.answer().finish; }

constexpr const char* completed =
    R"({"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}})";

test::reading streamed(std::initializer_list<const char*> events) {
  test::reading from(dialect::openai_responses);
  for (const char* one : events) from.event(one);
  from.finish();
  return from;
}

}  // namespace

TEST_CASE("a plain answer of every kind of item") {
  const answer_of one(with_output(
      R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text",)"
      R"("text":"Two."}],"encrypted_content":"gA"},)"
      R"({"type":"web_search_call","id":"ws_1","status":"completed"},)"
      R"({"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hi \u20ac",)"
      R"("annotations":[{"text":1}]},{"type":"output_text","text":"!"},{"type":"refusal","refusal":"no"}]},)"
      R"({"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\":1}",)"
      R"("status":"completed"},)"
      R"({"type":"function_call","id":"fc_2","name":"g","arguments":""})",
      R"("status":"completed","usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":30},)"
      R"("output_tokens":87,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":123})"));
  CHECK(one.from.story() ==
        "reasoning One.\n"
        "reasoning \\n\\n\n"
        "reasoning Two.\n"
        "text Hi \xE2\x82\xAC\n"
        "text !\n"
        "refusal no\n"
        "= ended\n"
        "finish tool_calls\n"
        "id resp_1\n"
        "model m\n"
        "text Hi \xE2\x82\xAC!\n"
        "reasoning One.\\n\\nTwo.\n"
        "refusal no\n"
        "call call_1 f {\"a\":1}\n"
        "call fc_2 g {}\n"
        "opaque "
        "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"One.\"},{\"type\":"
        "\"summary_text\",\"text\":\"Two.\"}],\"encrypted_content\":\"gA\"}\n"
        "opaque {\"type\":\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\"}\n"
        "usage in 36 (cached 30, written 0) out 87 (reasoning 64)\n");
  CHECK(one.from.answer().opaque.at(0).spoken == dialect::openai_responses);
}

TEST_CASE("the endings of a plain answer") {
  CHECK(finish_of(R"("status":"completed")") == finish_reason::stop);
  CHECK(finish_of(R"("status":"completed","incomplete_details":null)") == finish_reason::stop);
  CHECK(finish_of(R"("status":"incomplete","incomplete_details":{"reason":"max_output_tokens"})") ==
        finish_reason::length);
  CHECK(finish_of(R"("incomplete_details":{"reason":"content_filter"},"status":"incomplete")") ==
        finish_reason::content_filter);
  CHECK(finish_of(R"("status":"incomplete","incomplete_details":{"reason":"new"})") == finish_reason::other);

  const answer_of failed(
      with_output("", R"("status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"})"));
  REQUIRE(failed.from.why.has_value());
  CHECK(failed.from.why->is(errc::rate_limited));
  CHECK(failed.from.why->message().find("slow down") != std::string::npos);
  const answer_of cancelled(with_output("", R"("status":"cancelled")"));
  REQUIRE(cancelled.from.why.has_value());
  CHECK(cancelled.from.why->is(errc::provider_failed));
  CHECK(cancelled.from.why->provider_code == "cancelled");
  CHECK(cancelled.from.why->message() == "the provider cancelled the response before it was whole; what came is kept");
  const answer_of waiting(with_output("", R"("status":"queued")"));
  REQUIRE(waiting.from.why.has_value());
  CHECK(waiting.from.why->is(errc::protocol_error));
  CHECK(waiting.from.why->message().find("background") != std::string::npos);
}

TEST_CASE("the endings of a stream") {
  const auto of = [](const char* ending) { return streamed({ending}); };
  CHECK(of(completed).answer().finish == finish_reason::stop);
  CHECK(of(R"({"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}})")
            .answer()
            .finish == finish_reason::content_filter);
  CHECK(of(R"({"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"}}})")
            .why->is(errc::provider_failed));
  CHECK(of(R"({"type":"response.failed","response":{"status":"failed"}})").why->is(errc::provider_failed));
  for (const char* ending : {R"({"type":"response.cancelled","response":{"status":"cancelled"}})",
                             R"({"type":"response.cancelled"})", R"({"type":"response.cancelled","response":{}})",
                             R"({"type":"response.completed","response":{"status":"cancelled"}})"}) {
    CAPTURE(ending);
    const auto cancelled =
        streamed({R"({"type":"response.output_text.delta","output_index":0,"delta":"half"})", ending});
    REQUIRE(cancelled.why.has_value());
    CHECK(cancelled.why->is(errc::provider_failed));
    CHECK(cancelled.why->provider_code == "cancelled");
    CHECK(cancelled.answer().text == "half");
    CHECK_FALSE(cancelled.decoder->finished());
  }
  CHECK(of(R"({"type":"error","code":"rate_limit_exceeded","message":"m","param":null})").why->is(errc::rate_limited));
  // Rules 1: an end mark alone is none.
  const auto marked = streamed({R"({"type":"response.output_text.delta","output_index":0,"delta":"x"})", "[DONE]"});
  CHECK(marked.over);
  CHECK_FALSE(marked.decoder->finished());
}

TEST_CASE("an event is known by its type, else by its name") {
  test::reading from(dialect::openai_responses);
  from.event(R"({"item_id":"m","output_index":0,"delta":"a"})", "response.output_text.delta");
  from.event(R"({"delta":"b","item_id":"m","output_index":0,"type":"response.output_text.delta"})");
  from.event("2024", "keepalive");
  CHECK(from.answer().text == "ab");
}

TEST_CASE("what only comes whole is taken whole, and nothing is taken twice") {
  const auto done_only =
      streamed({R"({"type":"response.output_text.done","item_id":"m","output_index":0,"text":"whole"})",
                R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{)"
                R"("type":"output_text","text":"whole"}]}})",
                completed});
  CHECK(done_only.answer().text == "whole");
  const auto item_only = streamed(
      {R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{)"
       R"("type":"refusal","refusal":"no"}]}})",
       R"({"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c",)"
       R"("name":"g","arguments":"{\"a\":1}"}})",
       completed});
  CHECK(item_only.answer().refusal == "no");
  CHECK(item_only.answer().tool_calls.at(0).arguments == R"({"a":1})");
  const auto end_only = streamed(
      {R"({"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{)"
       R"("type":"output_text","text":"late"}]}]}})"});
  CHECK(end_only.answer().text == "late");
  CHECK(end_only.told() == "text late\n");
}

TEST_CASE("tools 1, 2: arguments in fragments, by place or by item") {
  const auto from = streamed(
      {R"({"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"f2",)"
       R"("call_id":"c2","name":"g","arguments":""}})",
       R"({"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f1",)"
       R"("call_id":"c1","name":"f","arguments":""}})",
       R"({"type":"response.function_call_arguments.delta","item_id":"f1","delta":"{\"x\":\"\ud83d"})",
       R"({"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"y\""})",
       R"({"type":"response.function_call_arguments.delta","item_id":"f1","output_index":1,"delta":"\ude00\"}"})",
       R"({"type":"response.function_call_arguments.delta","item_id":"f2","delta":":2}"})",
       R"({"type":"response.function_call_arguments.done","item_id":"f2","output_index":2,"arguments":"{\"y\":2}"})",
       completed});
  REQUIRE(from.answer().tool_calls.size() == 2);
  CHECK(from.answer().tool_calls[0].id == "c1");
  CHECK(from.answer().tool_calls[0].arguments == "{\"x\":\"\xF0\x9F\x98\x80\"}");
  CHECK(from.answer().tool_calls[1].arguments == R"({"y":2})");
  CHECK(from.answer().finish == finish_reason::tool_calls);
  // Names and arguments, each once.
  CHECK(from.decoder->produced_bytes() == 1 + 1 + 9 + 5 + 4 + 3);
}

TEST_CASE("tools 6: arguments that were cut off") {
  const auto from =
      streamed({R"({"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f",)"
                R"("call_id":"c","name":"g"}})",
                R"({"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\":"})",
                R"({"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{)"
                R"("reason":"max_output_tokens"}}})"});
  CHECK(from.answer().finish == finish_reason::length);
  REQUIRE(from.answer().tool_calls.size() == 1);
  CHECK_FALSE(from.answer().tool_calls[0].valid);
  CHECK(from.answer().tool_calls[0].problem == "the arguments were cut off by the answer's token limit");
}

TEST_CASE("usage: odd figures, and the last report wins") {
  const auto of = [](const std::string& usage) {
    return answer_of(with_output("", R"("status":"completed","usage":)" + usage)).from.usage();
  };
  constexpr std::int64_t most = std::int64_t{1} << 53;
  CHECK(of(R"({"input_tokens":12.0,"output_tokens":"7","total_tokens":1})") == usage_report{12, 7});
  CHECK(of(R"({"input_tokens":9007199254740993,"output_tokens":-1})") == usage_report{most, std::nullopt});
  CHECK(of(R"({"input_tokens":1,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":"2"}})") ==
        usage_report{1, 2, 0, 2});
  CHECK(of("{}") == usage_report{});
  CHECK(of("null") == usage_report{});
}

TEST_CASE("what is no answer is a protocol error that quotes its start") {
  for (const char* text :
       {R"({"id":"x","object":"response"})", R"({"output":5})", "[]", "", R"({"output":[)", R"({"output":[]}1)"}) {
    CAPTURE(text);
    const answer_of one(text);
    REQUIRE(one.from.why.has_value());
    CHECK(one.from.why->is(errc::protocol_error));
  }
  CHECK(answer_of(R"({"hello":"sk-secret"})").from.why->message() ==
        R"(the provider's answer holds no output; it begins {"hello":"[key]"})");
  const answer_of told(R"({"error":"no such model"})");
  REQUIRE(told.from.why.has_value());
  CHECK(told.from.why->message().find("no such model") != std::string::npos);
}
