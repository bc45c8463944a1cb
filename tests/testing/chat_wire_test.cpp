#include "testing/mock_fixture.hpp"
#include "testing/wire_dialect.hpp"

#include <string>
#include <vector>

using namespace sluice::testing;

namespace {

wire_answer answer_to(const mock_reply& reply, std::int64_t limit = -1) {
  mock_request request;
  request.number = 4;
  request.max_output_tokens = limit;
  wire_answer answer;
  answer.number = 4;
  answer.model = "m\"";
  answer.plan = plan_answer(reply, request);
  return answer;
}

std::string stream_of(const wire_answer& answer, const wire_usage& used = {}) {
  const auto events = chat_wire().events(answer);
  auto all = events->begin(used);
  all += events->tokens(0, answer.plan.pieces.size());
  all += events->finish(used);
  return all + events->end_mark(used);
}

json message_of(const wire_answer& answer) {
  return json::parse(chat_wire().body(answer, answer.plan.pieces.size(), {}))["choices"][0]["message"];
}

}  // namespace

TEST_CASE("neighbouring tokens of one kind share an event") {
  const auto answer = answer_to(mock_reply::text("a b c").with_tool_call("f", "0123456789abcdefgh"));
  REQUIRE(answer.plan.pieces.size() == 7);
  const auto events = chat_wire().events(answer);
  const auto all = events->tokens(0, 7);
  CHECK(all.find(R"("model":"m\"")") != std::string::npos);
  CHECK(count(all, "data: ") == 3);
  CHECK(all.find(R"({"content":"a b c"})") != std::string::npos);
  CHECK(all.find(R"({"arguments":"0123456789abcdefgh"})") != std::string::npos);
  CHECK(events->tokens(1, 2).find(R"({"content":" b"})") != std::string::npos);
  CHECK(events->tokens(3, 3).empty());
}

TEST_CASE("a limit cuts a tool call too") {
  const auto answer = answer_to(mock_reply::tool_call("f", "0123456789abcdefgh"), 2);
  const auto body = json::parse(chat_wire().body(answer, 2, {}));
  CHECK(body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == "01234567");
  CHECK(body["choices"][0]["message"]["tool_calls"][0]["id"] == "call_4_0");
  CHECK(body["choices"][0]["finish_reason"] == "length");
}

TEST_CASE("a refusal, plain and streamed") {
  const auto answer = answer_to(mock_reply().with_refusal("I will not."));
  const auto message = message_of(answer);
  CHECK(message["refusal"] == "I will not.");
  CHECK(message["content"].is_null());
  const auto all = events(stream_of(answer));
  CHECK(json::parse(all[1])["choices"][0]["delta"]["refusal"] == "I will not.");
  CHECK(json::parse(all[2])["choices"][0]["finish_reason"] == "stop");
}

TEST_CASE("usage has its details") {
  auto answer = answer_to(mock_reply::text("a"));
  answer.include_usage = true;
  const auto all = events(stream_of(answer, {100, 60, 0, 7, 3}));
  REQUIRE(all.size() == 5);
  const auto usage = json::parse(all[3])["usage"];
  CHECK(usage["prompt_tokens"] == 100);
  CHECK(usage["prompt_tokens_details"]["cached_tokens"] == 60);
  CHECK(usage["completion_tokens"] == 7);
  CHECK(usage["completion_tokens_details"]["reasoning_tokens"] == 3);
  CHECK(usage["total_tokens"] == 107);
}

TEST_CASE("whole calls come in one delta, without index, their arguments as objects") {
  auto answer =
      answer_to(mock_reply::text("Hm.").with_tool_call("f", R"({"a":[1]})", "x").with_tool_call("g", "no json", "y"));
  answer.habits.whole_tool_calls = true;
  const auto all = events(stream_of(answer));
  REQUIRE(all.size() == 5);
  CHECK(json::parse(all[1])["choices"][0]["delta"]["content"] == "Hm.");
  const auto calls = json::parse(all[2])["choices"][0]["delta"]["tool_calls"];
  REQUIRE(calls.size() == 2);
  CHECK_FALSE(calls[0].contains("index"));
  CHECK(calls[0]["id"] == "x");
  CHECK(calls[0]["function"]["name"] == "f");
  CHECK(calls[0]["function"]["arguments"]["a"][0] == 1);
  CHECK(calls[1]["function"]["arguments"] == "no json");
  CHECK(json::parse(all[3])["choices"][0]["finish_reason"] == "tool_calls");
  CHECK(message_of(answer)["tool_calls"] == calls);
}

TEST_CASE("usage in the last chunk that has choices, asked for or not") {
  auto answer = answer_to(mock_reply::text("a"));
  answer.habits.usage_in_last_chunk = true;
  for (const bool asked : {false, true}) {
    answer.include_usage = asked;
    const auto all = events(stream_of(answer, {5, 0, 0, 1, 0}));
    REQUIRE(all.size() == 4);
    CHECK_FALSE(json::parse(all[1]).contains("usage"));
    const auto last = json::parse(all[2]);
    CHECK(last["choices"][0]["finish_reason"] == "stop");
    CHECK(last["usage"]["total_tokens"] == 6);
  }
}

TEST_CASE("no finish reason, and another name for the reasoning") {
  auto answer = answer_to(mock_reply::text("a").with_reasoning("b"));
  answer.habits.no_finish_reason = true;
  answer.habits.reasoning_field = "reasoning";
  const auto all = events(stream_of(answer));
  REQUIRE(all.size() == 4);
  CHECK(json::parse(all[1])["choices"][0]["delta"]["reasoning"] == "b");
  CHECK(json::parse(all[2])["choices"][0]["finish_reason"].is_null());
  CHECK(all[3] == "[DONE]");
  CHECK(message_of(answer)["reasoning"] == "b");
  CHECK(json::parse(chat_wire().body(answer, 2, {}))["choices"][0]["finish_reason"].is_null());
}
