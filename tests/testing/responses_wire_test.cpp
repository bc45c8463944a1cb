#include "testing/mock_fixture.hpp"
#include "testing/wire_dialect.hpp"

#include <string>
#include <vector>

using namespace sluice::testing;

namespace {

wire_answer answer_to(const mock_reply& reply, std::int64_t limit = -1) {
  mock_request request;
  request.number = 7;
  request.max_output_tokens = limit;
  wire_answer answer;
  answer.number = 7;
  answer.model = "m";
  answer.plan = plan_answer(reply, request);
  return answer;
}

// Token by token, as a slow model would.
std::vector<json> stream_of(const wire_answer& answer, const wire_usage& used = {}) {
  const auto events = responses_wire().events(answer);
  auto all = events->begin(used);
  for (std::size_t i = 0; i < answer.plan.pieces.size(); ++i) all += events->tokens(i, i + 1);
  all += events->finish(used);
  all += events->end_mark(used);
  auto read = named_events(all);
  for (std::size_t i = 0; i < read.size(); ++i) CHECK(read[i]["sequence_number"] == i);
  return read;
}

json plain(const wire_answer& answer, const wire_usage& used = {}) {
  return json::parse(responses_wire().body(answer, answer.plan.pieces.size(), used));
}

}  // namespace

TEST_CASE("a text: every event in its order, and the same answer plain and streamed") {
  const auto answer = answer_to(mock_reply::text("Hi you"));
  const wire_usage used{100, 60, 0, 2, 0};
  const auto all = stream_of(answer, used);
  CHECK(types_of(all) == std::vector<std::string>{"response.created", "response.in_progress",
                                                  "response.output_item.added", "response.content_part.added",
                                                  "response.output_text.delta", "response.output_text.delta",
                                                  "response.output_text.done", "response.content_part.done",
                                                  "response.output_item.done", "response.completed"});
  CHECK(all[0]["response"]["status"] == "in_progress");
  CHECK(all[0]["response"]["output"].empty());
  CHECK(all[0]["response"]["usage"].is_null());
  CHECK(all[2]["output_index"] == 0);
  CHECK(all[2]["item"]["status"] == "in_progress");
  CHECK(all[2]["item"]["content"].empty());
  CHECK(all[5]["delta"] == " you");
  CHECK(all[5]["item_id"] == "msg_7");
  CHECK(all[5]["content_index"] == 0);
  CHECK(all[6]["text"] == "Hi you");
  CHECK(all[8]["item"]["content"][0]["text"] == "Hi you");
  const auto whole = plain(answer, used);
  CHECK(all[9]["response"] == whole);
  CHECK(whole["id"] == "resp_7");
  CHECK(whole["object"] == "response");
  CHECK(whole["status"] == "completed");
  CHECK(whole["output"][0] == all[8]["item"]);
  CHECK(whole["usage"] == json{{"input_tokens", 100},
                               {"input_tokens_details", {{"cached_tokens", 60}}},
                               {"output_tokens", 2},
                               {"output_tokens_details", {{"reasoning_tokens", 0}}},
                               {"total_tokens", 102}});
}

TEST_CASE("reasoning and two calls are items of their own") {
  auto answer = answer_to(
      mock_reply::tool_call("f", R"({"a":1})", "c1").with_tool_call("g", "{}", "c2").with_reasoning("Let me"));
  answer.encrypted_reasoning = true;
  const auto all = stream_of(answer);
  CHECK(types_of(all) ==
        std::vector<std::string>{
            "response.created", "response.in_progress", "response.output_item.added",
            "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done", "response.output_item.done", "response.output_item.added",
            "response.function_call_arguments.delta", "response.function_call_arguments.done",
            "response.output_item.done", "response.output_item.added", "response.function_call_arguments.delta",
            "response.function_call_arguments.done", "response.output_item.done", "response.completed"});
  CHECK(all[5]["delta"] == " me");
  CHECK(all[5]["summary_index"] == 0);
  CHECK(all[9]["item"]["call_id"] == "c1");
  CHECK(all[9]["item"]["arguments"] == "");
  CHECK(all[10]["output_index"] == 1);
  CHECK(all[10]["item_id"] == "fc_7_0");
  CHECK(all[11]["arguments"] == R"({"a":1})");
  CHECK(all[14]["output_index"] == 2);
  const auto whole = plain(answer);
  CHECK(all.back()["response"] == whole);
  REQUIRE(whole["output"].size() == 3);
  CHECK(whole["output"][0]["summary"][0]["text"] == "Let me");
  CHECK(whole["output"][0]["encrypted_content"].is_string());
  CHECK(whole["output"][0] == all[8]["item"]);
  CHECK(whole["output"][1] == all[12]["item"]);
  CHECK(whole["output"][2]["name"] == "g");
}

TEST_CASE("a refusal is a part of the message, behind its text") {
  const auto answer = answer_to(mock_reply::text("Hm.").with_refusal("No."));
  const auto all = stream_of(answer);
  CHECK(types_of(all) ==
        std::vector<std::string>{"response.created", "response.in_progress", "response.output_item.added",
                                 "response.content_part.added", "response.output_text.delta",
                                 "response.output_text.done", "response.content_part.done",
                                 "response.content_part.added", "response.refusal.delta", "response.refusal.done",
                                 "response.content_part.done", "response.output_item.done", "response.completed"});
  CHECK(all[8]["content_index"] == 1);
  CHECK(all[9]["refusal"] == "No.");
  const auto content = plain(answer)["output"][0]["content"];
  REQUIRE(content.size() == 2);
  CHECK(content[1]["type"] == "refusal");
  CHECK(content[1]["refusal"] == "No.");
  CHECK(all[11]["item"]["content"] == content);
}

TEST_CASE("how it ended: status, details and the name of the last event") {
  const auto end_of = [](const wire_answer& answer) { return stream_of(answer).back(); };
  auto last = end_of(answer_to(mock_reply::text("a b c"), 2));
  CHECK(last["type"] == "response.incomplete");
  CHECK(last["response"]["status"] == "incomplete");
  CHECK(last["response"]["incomplete_details"]["reason"] == "max_output_tokens");
  CHECK(last["response"]["output"][0]["status"] == "incomplete");
  CHECK(last["response"]["output"][0]["content"][0]["text"] == "a b");
  last = end_of(answer_to(mock_reply::text("a").with_finish_reason("content_filter")));
  CHECK(last["type"] == "response.incomplete");
  CHECK(last["response"]["incomplete_details"]["reason"] == "content_filter");
  CHECK(last["response"]["output"][0]["status"] == "completed");
  last = end_of(answer_to(mock_reply::text("a").with_finish_reason("failed")));
  CHECK(last["type"] == "response.failed");
  CHECK(last["response"]["error"]["code"] == "server_error");
  last = end_of(answer_to(mock_reply::text("a").with_finish_reason("cancelled")));
  CHECK(last["response"]["status"] == "cancelled");
  auto bare = answer_to(mock_reply::words(0));
  bare.habits.no_finish_reason = true;
  bare.habits.no_usage = true;
  last = end_of(bare);
  CHECK(last["type"] == "response.completed");
  CHECK_FALSE(last["response"].contains("status"));
  CHECK(last["response"]["usage"].is_null());
  CHECK(last["response"]["output"].empty());
}

TEST_CASE("errors and spoilt events in mid-stream") {
  const auto answer = answer_to(mock_reply::text("a"));
  const auto events = responses_wire().events(answer);
  (void)events->begin({});
  const auto failed = named_events(events->failure(responses_wire().usual_error(429)));
  CHECK(failed[0]["type"] == "error");
  CHECK(failed[0]["code"] == "rate_limit_exceeded");
  CHECK(failed[0]["message"] == "Rate limit reached for requests.");
  CHECK(failed[0]["sequence_number"] == 2);
  CHECK(named_events(events->failure(responses_wire().usual_error(500)))[0]["code"] == "server_error");
  const auto bad = events->bad_json();
  CHECK(bad.ends_with("\n\n"));
  CHECK_FALSE(json::accept(bad.substr(bad.find("data: ") + 6)));
}
