#include "testing/mock_fixture.hpp"
#include "testing/wire_dialect.hpp"

#include <chrono>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::testing;

namespace {

wire_answer answer_to(const mock_reply& reply, std::int64_t limit = -1) {
  mock_request request;
  request.number = 7;
  request.dialect = mock_dialect::anthropic_messages;
  request.max_output_tokens = limit;
  wire_answer answer;
  answer.number = 7;
  answer.model = "m";
  answer.plan = plan_answer(reply, request);
  return answer;
}

// Token by token, as a slow model would.
std::vector<json> stream_of(const wire_answer& answer, const wire_usage& used = {}) {
  const auto events = messages_wire().events(answer);
  auto all = events->begin(used);
  for (std::size_t i = 0; i < answer.plan.pieces.size(); ++i) all += events->tokens(i, i + 1);
  all += events->finish(used);
  return named_events(all + events->end_mark(used));
}

json plain(const wire_answer& answer, const wire_usage& used = {}) {
  return json::parse(messages_wire().body(answer, answer.plan.pieces.size(), used));
}

}  // namespace

TEST_CASE("a text: every event in its order") {
  const auto answer = answer_to(mock_reply::text("Hi you"));
  const auto all = stream_of(answer, {100, 60, 30, 2, 0});
  CHECK(types_of(all) == std::vector<std::string>{"message_start", "content_block_start", "ping", "content_block_delta",
                                                  "content_block_delta", "content_block_stop", "message_delta",
                                                  "message_stop"});
  const auto& message = all[0]["message"];
  CHECK(message["id"] == "msg_7");
  CHECK(message["type"] == "message");
  CHECK(message["role"] == "assistant");
  CHECK(message["content"].empty());
  CHECK(message["stop_reason"].is_null());
  CHECK(message["usage"]["input_tokens"] == 10);
  CHECK(message["usage"]["cache_read_input_tokens"] == 60);
  CHECK(message["usage"]["cache_creation_input_tokens"] == 30);
  CHECK(message["usage"]["output_tokens"] == 1);
  CHECK(all[1]["content_block"] == json{{"type", "text"}, {"text", ""}});
  CHECK(all[4]["index"] == 0);
  CHECK(all[4]["delta"] == json{{"type", "text_delta"}, {"text", " you"}});
  CHECK(all[6]["delta"]["stop_reason"] == "end_turn");
  CHECK(all[6]["delta"]["stop_sequence"].is_null());
  CHECK(all[6]["usage"]["output_tokens"] == 2);

  const auto whole = plain(answer, {100, 60, 30, 2, 0});
  CHECK(whole["content"] == json::array({{{"type", "text"}, {"text", "Hi you"}}}));
  CHECK(whole["stop_reason"] == "end_turn");
  CHECK(whole["usage"]["input_tokens"] == 10);
  CHECK(whole["usage"]["output_tokens"] == 2);
}

TEST_CASE("thinking is signed, and calls come in fragments") {
  const auto answer = answer_to(mock_reply::text("So.")
                                    .with_tool_call("f", R"({"a":[1,2]})")
                                    .with_tool_call("g", "{}", "t2")
                                    .with_reasoning("Let me"));
  const auto all = stream_of(answer);
  CHECK(types_of(all) == std::vector<std::string>{"message_start",       "content_block_start", "ping",
                                                  "content_block_delta", "content_block_delta", "content_block_delta",
                                                  "content_block_stop",  "content_block_start", "content_block_delta",
                                                  "content_block_stop",  "content_block_start", "content_block_delta",
                                                  "content_block_delta", "content_block_delta", "content_block_stop",
                                                  "content_block_start", "content_block_delta", "content_block_delta",
                                                  "content_block_stop",  "message_delta",       "message_stop"});
  CHECK(all[1]["content_block"] == json{{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
  CHECK(all[4]["delta"] == json{{"type", "thinking_delta"}, {"thinking", " me"}});
  CHECK(all[5]["delta"]["type"] == "signature_delta");
  CHECK(all[8]["index"] == 1);
  CHECK(all[10]["content_block"] ==
        json{{"type", "tool_use"}, {"id", "toolu_7_0"}, {"name", "f"}, {"input", json::object()}});
  CHECK(all[11]["delta"] == json{{"type", "input_json_delta"}, {"partial_json", ""}});
  CHECK(all[12]["delta"]["partial_json"] == R"({"a":[1,)");
  CHECK(all[13]["delta"]["partial_json"] == "2]}");
  CHECK(all[15]["index"] == 3);
  CHECK(all[19]["delta"]["stop_reason"] == "tool_use");

  const auto content = plain(answer)["content"];
  REQUIRE(content.size() == 4);
  CHECK(content[0]["thinking"] == "Let me");
  CHECK(content[0]["signature"] == all[5]["delta"]["signature"]);
  CHECK(content[1]["text"] == "So.");
  CHECK(content[2]["input"] == json{{"a", {1, 2}}});
  CHECK(content[3] == json{{"type", "tool_use"}, {"id", "t2"}, {"name", "g"}, {"input", json::object()}});
}

TEST_CASE("a call's input is an object, whatever was scripted, and whatever a limit has cut") {
  CHECK(plain(answer_to(mock_reply::tool_call("f", "[1]")))["content"][0]["input"] == json::object());
  const auto cut = plain(answer_to(mock_reply::tool_call("f", R"({"a":"0123456789"})"), 2));
  CHECK(cut["content"][0]["input"] == json::object());
  CHECK(cut["stop_reason"] == "max_tokens");
}

TEST_CASE("why it stopped, in its own words") {
  const auto reason = [](const char* said) {
    const auto answer = answer_to(mock_reply::text("a").with_finish_reason(said));
    CHECK(stream_of(answer)[5]["delta"]["stop_reason"] == plain(answer)["stop_reason"]);
    return plain(answer)["stop_reason"];
  };
  CHECK(reason("stop") == "end_turn");
  CHECK(reason("length") == "max_tokens");
  CHECK(reason("tool_calls") == "tool_use");
  CHECK(reason("content_filter") == "refusal");
  CHECK(reason("pause_turn") == "pause_turn");
  CHECK(plain(answer_to(mock_reply().with_refusal("No.")))["stop_reason"] == "refusal");
  CHECK(plain(answer_to(mock_reply().with_refusal("No.")))["content"][0]["text"] == "No.");
  auto answer = answer_to(mock_reply::text("a").with_finish_reason("stop_sequence"));
  CHECK(plain(answer)["stop_sequence"].is_null());
  answer.stop_sequence = "END";
  CHECK(plain(answer)["stop_sequence"] == "END");
  CHECK(stream_of(answer)[5]["delta"]["stop_sequence"] == "END");
}

TEST_CASE("an answer of nothing, without usage and reason") {
  auto answer = answer_to(mock_reply::words(0));
  answer.habits.no_usage = true;
  answer.habits.no_finish_reason = true;
  const auto all = stream_of(answer);
  CHECK(types_of(all) == std::vector<std::string>{"message_start", "message_delta", "message_stop"});
  CHECK_FALSE(all[0]["message"].contains("usage"));
  CHECK_FALSE(all[1].contains("usage"));
  CHECK(all[1]["delta"]["stop_reason"].is_null());
  CHECK_FALSE(plain(answer).contains("usage"));
}

TEST_CASE("errors have Anthropic's types") {
  const auto type = [](int status) { return messages_wire().usual_error(status).type; };
  CHECK(type(400) == "invalid_request_error");
  CHECK(type(401) == "authentication_error");
  CHECK(type(403) == "permission_error");
  CHECK(type(404) == "not_found_error");
  CHECK(type(405) == "invalid_request_error");
  CHECK(type(413) == "request_too_large");
  CHECK(type(429) == "rate_limit_error");
  CHECK(type(500) == "api_error");
  CHECK(type(504) == "timeout_error");
  CHECK(type(529) == "overloaded_error");
  CHECK(messages_wire().usual_error(529, "mine").message == "mine");
  CHECK(messages_wire().usual_error(429, {}, true).status == 400);
  CHECK(json::parse(messages_wire().error_body(messages_wire().usual_error(529), "req-3")) ==
        json{{"type", "error"},
             {"error", {{"type", "overloaded_error"}, {"message", "Overloaded"}}},
             {"request_id", "req-3"}});
  const auto answer = answer_to(mock_reply::text("a"));
  const auto events = messages_wire().events(answer);
  CHECK(named_events(events->failure(messages_wire().usual_error(529)))[0]["error"]["type"] == "overloaded_error");
  const auto bad = events->bad_json();
  CHECK_FALSE(json::accept(bad.substr(bad.find("data: ") + 6)));
}

TEST_CASE("headers: remaining tokens in thousands, resets as instants") {
  const auto value = [](const wire_load& load, const std::string& name) {
    for (const auto& line : messages_wire().headers(load, "r1")) {
      if (line.name() == name) return std::string(line.value());
    }
    return std::string("none");
  };
  const wire_load busy{8, 3, 10'000, 2'499, 24h};
  CHECK(value(busy, "request-id") == "r1");
  CHECK(value(busy, "anthropic-ratelimit-requests-limit") == "8");
  CHECK(value(busy, "anthropic-ratelimit-requests-remaining") == "3");
  for (const std::string what : {"tokens", "input-tokens", "output-tokens"}) {
    CHECK(value(busy, "anthropic-ratelimit-" + what + "-limit") == "10000");
    CHECK(value(busy, "anthropic-ratelimit-" + what + "-remaining") == "2000");
    CHECK(value(busy, "anthropic-ratelimit-" + what + "-reset").size() == std::string("2026-01-31T08:05:00Z").size());
  }
  const wire_load idle{8, 8, 10'000, 10'000, 24h};
  // A day lies between them, so their order is that of their texts.
  CHECK(value(idle, "anthropic-ratelimit-tokens-reset") < value(busy, "anthropic-ratelimit-tokens-reset"));
  CHECK(value(idle, "x-request-id") == "none");
}

TEST_CASE("the list of models") {
  const auto list = json::parse(messages_wire().models_body({"a", "b"}));
  CHECK(list["data"][1]["id"] == "b");
  CHECK(list["data"][1]["type"] == "model");
  CHECK(list["has_more"] == false);
  CHECK(list["first_id"] == "a");
  CHECK(list["last_id"] == "b");
  CHECK(json::parse(messages_wire().models_body({}))["first_id"].is_null());
}
